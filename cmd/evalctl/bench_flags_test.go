package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/bench/record"
	"evalctl/internal/filetest"
)

// benchFlags has a value of each flag of bench that is not its default. {dir} has a corpus and
// questions.
var benchFlags = map[string]string{
	"target": "b=http://127.0.0.1:9", "endpoint": "http://127.0.0.1:8", "daemon-cmd": "{self}~{addr}", "token": "secret", "dialect": "camel",
	"mix": "search,ask", "documents": "30", "grow": "20,200", "corpus": "{dir}/corpus.jsonl", "dataset": "{dir}/q.jsonl", "use-brain": "notes", "brains": "2",
	"concurrency": "3", "rate": "70/s", "poisson": "", "max-in-flight": "9", "duration": "40s", "rounds": "10", "restart": "",
	"warm-up": "1s", "request-timeout": "9s", "seed": "7", "top-k": "4", "mode": "bm25", "require": "errors<1%", "find-limit": "p99<1s",
	"step": "2s", "baseline": "{dir}/base.json", "fail-over": "10%", "chaos": "slow-client", "price": "fake=1/2", "prices": "{dir}/prices.json", "max-cost-usd": "3", "unmetered-daemon": "", "daemon-env": "PATH", "home-of-user": "", "start-timeout": "45s",
}

// benchOutputs are the flags that say what becomes of the figures. They have an effect on every
// bench.
var benchOutputs = []string{"junit", "markdown", "html", "ci", "output", "quiet", "json"}

// benchModes are the ways in which a bench measures. refused are the flags that have no effect in
// one and are refused, in addition to those of the mode itself.
var benchModes = []struct {
	name, args, refused string
}{
	{"closed loop", "--target go", "use-brain poisson max-in-flight step baseline fail-over price"},
	{"one block", "--target go --rounds 1", "use-brain poisson max-in-flight find-limit step baseline fail-over restart price"},
	{"rate", "--target go --rate 50/s", "use-brain concurrency step baseline fail-over price"},
	{"steps", "--target go --rate 50/s,90/s", "use-brain concurrency step baseline fail-over find-limit chaos price"},
	{"ramp", "--target go --rate 50/s..90/s", "use-brain concurrency step baseline fail-over find-limit price"},
	{"comparison", "--target a=http://127.0.0.1:7 --target c=http://127.0.0.1:6", "endpoint daemon-cmd poisson max-in-flight restart step baseline chaos price daemon-env home-of-user start-timeout"},
	{"growth", "--target go --grow 10,20", "use-brain documents poisson max-in-flight find-limit step baseline fail-over chaos price"},
	{"search", "--target go --find-limit p50<1s", "use-brain grow concurrency duration rounds restart require baseline fail-over chaos price"},
	{"fault", "--target go --mix put --chaos kill", "target endpoint grow use-brain dataset poisson max-in-flight restart top-k mode find-limit step baseline fail-over price"},
	{"baseline", "--target go --baseline {dir}/base.json --fail-over 5%", "target use-brain poisson max-in-flight find-limit step chaos price"},
	{"running", "--target a --endpoint http://127.0.0.1:7", "target daemon-cmd poisson max-in-flight restart step baseline fail-over price daemon-env home-of-user start-timeout"},
	{"brain", "--target a --endpoint http://127.0.0.1:7 --use-brain notes", "target daemon-cmd documents grow corpus brains poisson max-in-flight restart step baseline fail-over price daemon-env home-of-user start-timeout"},
	{"mcp", "--target m=mcp:{self}", "endpoint daemon-cmd poisson max-in-flight restart step baseline fail-over chaos price"},
	{"writes", "--target go --mix put", "use-brain dataset poisson max-in-flight top-k mode step baseline fail-over price"},
	{"answers", "--target go --mix ask,put", "use-brain poisson max-in-flight step baseline fail-over"},
	{"null", "--target null", "endpoint daemon-cmd token poisson max-in-flight restart step baseline fail-over price daemon-env home-of-user start-timeout"},
}

// TestBenchFlags gives every flag in every mode. It must be refused, or change what is measured.
func TestBenchFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	dir := t.TempDir()
	docs := ""
	for i := range 200 {
		docs += fmt.Sprintf(`{"path":"%d.md","text":"some words"}`+"\n", i)
	}
	for name, text := range map[string]string{"corpus.jsonl": docs, "q.jsonl": `{"id":"1","question":"what?","expected_substrings":["this"]}`,
		"prices.json": `{"date": "2026-03-21", "models": {"fake": {"input": 1, "output": 2}}}`} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	var flags []string
	for _, f := range grammar([]string{"bench"}).Children[0].Flags {
		if !f.Hidden && f.Name != "help" && !slices.Contains(benchOutputs, f.Name) {
			flags = append(flags, f.Name)
		}
	}
	if given := slices.Sorted(maps.Keys(benchFlags)); !slices.Equal(given, slices.Sorted(slices.Values(flags))) {
		t.Fatalf("the flags are %q, and the test knows %q and %q", flags, given, benchOutputs)
	}
	for _, mode := range benchModes {
		plain, err := benchConfig(t, dir, mode.args)
		if err != nil {
			t.Fatalf("%s: %v", mode.name, err)
		}
		for _, flag := range flags {
			args := mode.args + " --" + flag
			if value := benchFlags[flag]; value != "" {
				args += " " + value
			}
			if strings.Contains(mode.args, "--"+flag+" ") && flag != "target" {
				continue
			}
			found, err := benchConfig(t, dir, args)
			rule := flag
			if flag == "prices" {
				rule = "price"
			}
			refused := slices.Contains(strings.Fields(mode.refused), rule)
			switch {
			case refused && err == nil:
				t.Errorf("%s: --%s is not refused", mode.name, flag)
			case refused && !slices.ContainsFunc(strings.Fields(mode.args+" --"+flag), func(arg string) bool {
				return strings.HasPrefix(arg, "--") && arg != "--target" && strings.Contains(err.Error(), arg)
			}):
				t.Errorf("%s: --%s is not named: %v", mode.name, flag, err)
			case !refused && err != nil:
				t.Errorf("%s: --%s: %v", mode.name, flag, err)
			case !refused && found == plain:
				t.Errorf("%s: --%s changes nothing", mode.name, flag)
			}
		}
	}
}

// benchConfig returns what a command line of bench measures as a text, or why it is refused. The
// bench that
// --baseline names did the same work.
func benchConfig(t *testing.T, dir, line string) (string, error) {
	t.Helper()
	args := strings.Fields(strings.NewReplacer("{dir}", dir, "{self}", os.Args[0]).Replace(line))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "~", " ")
	}
	if i := slices.Index(args, "--baseline"); i >= 0 {
		without := slices.Delete(slices.Clone(args), i, i+2)
		if j := slices.Index(without, "--fail-over"); j >= 0 {
			without = slices.Delete(without, j, j+2)
		}
		c, p, err := parseBench(t, without)
		if err == nil {
			if config, _, err := c.config(p); err == nil {
				writeBench(t, filepath.Join(dir, "base.json"), record.File{Version: record.Version, Kind: record.Kind, Plan: config.Plan})
			}
		}
	}
	c, p, err := parseBench(t, args)
	if err != nil {
		return "", err
	}
	config, _, err := c.config(p)
	if err != nil {
		return "", err
	}
	var targets []any
	for _, x := range config.Targets {
		targets = append(targets, x.Name, x.Mode, x.Dialect, x.Session.Endpoint, x.Session.Token, x.Session.Profile.Command, x.Session.Profile.Passed, x.Session.Launch.HealthTimeout, x.Session.HomeOfUser)
	}
	text, err := json.Marshal([]any{
		config.Plan, targets, config.Brain, config.Queries, config.Prices["fake"], c.money.Cap, c.money.Unmetered, config.WarmUp, config.Step, config.BaselinePath,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// TestBenchPriceOfADaemonsModel: a price is not refused that the cap demands for a model which the
// daemon calls in every mix.
func TestBenchPriceOfADaemonsModel(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"embeddings": {"SVC_EMBED_PROVIDER": "openai", "SVC_EMBED_MODEL": "mine", "OPENAI_API_KEY": "k"},
		"facts":      {"SVC_LLM_PROVIDER": "openai", "SVC_LLM_MODEL": "mine", "OPENAI_API_KEY": "k"},
	} {
		args := []string{"--target", "go", "--mix", "search", "--max-cost-usd", "1"}
		for _, more := range [][]string{nil, {"--price", "mine=1/1"}} {
			c, p, err := parseBench(t, append(args, more...))
			p.env = func(variable string) string { return env[variable] }
			if err == nil {
				_, _, err = c.config(p)
			}
			if (err == nil) != (more != nil) {
				t.Errorf("%s %q: %v", name, more, err)
			}
		}
	}
}

func parseBench(t *testing.T, args []string) (*benchCmd, *process, error) {
	t.Helper()
	var c cli
	p := &process{args: append([]string{"bench"}, args...), env: func(string) string { return "" }, stdout: io.Discard, stderr: io.Discard}
	_, err := parse(t.Context(), p, &c)
	return &c.Bench, p, err
}

func writeBench(t *testing.T, path string, f record.File) {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, path, data)
}
