package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"evalctl/harness/journal"
	"evalctl/harness/project"
	"evalctl/harness/result"
)

// absolute returns the path of a file of this package, whatever the current directory becomes.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// flagSamples has for each flag of run a value that is not its default, and the flags without which
// it is not accepted.
var flagSamples = map[string][]string{
	"junit":            {"/data/j.xml"},
	"markdown":         {"/data/s.md"},
	"html":             {"/data/p.html"},
	"metrics":          {"/data/m.prom"},
	"traces":           {"/data/t.jsonl"},
	"notify":           {"https://hooks.example.com/services/secret"},
	"ci":               {""},
	"target":           {"py"},
	"prices":           {absolute("testdata/prices.json")},
	"unmetered-daemon": {""},
	"dataset":          {"other.jsonl"},
	"limit":            {"7"},
	"tags":             {"a,b"},
	"ids":              {"q-1,@@2"},
	"grep":             {"^Who (is|was)"},
	"failed-of":        {"/r/go.json"},
	"shuffle":          {""},
	"seed":             {"18446744073709551615", "--shuffle"},
	"repeats":          {"3"},
	"max-failures":     {"4"},
	"max-unusable":     {"5"},
	"cluster":          {"conv"},
	"output":           {"elsewhere"},
	"port":             {"7001"},
	"brain":            {"notes"},
	"brain-tag":        {"conv"},
	"endpoint":         {"http://127.0.0.1:8080"},
	"token":            {"evk_secret-of-the-test"},
	"daemon-cmd":       {"python3 'daemon one.py' {addr}"},
	"corpus":           {"notes"},
	"isolated":         {""},
	"baseline":         {"/r/old.json"},
	"margin":           {"0.05"},
	"accept":           {"top_k", "--baseline=/r/old.json"},
	"concurrency":      {"9"},
	"dialect":          {"camel"},
	"timeout":          {"90s"},
	"max-errors":       {"3"},
	"max-unscored":     {"12.5%"},
	"quiet":            {""},
	"verbose":          {""},
	"json":             {""},
	"scenario":         {"ask-augmented"},
	"mode":             {"bm25"},
	"scorer":           {"retrieval"},
	"exact-case":       {"", "--scorer=exact"},
	"scorer-timeout":   {"7s"},
	"scorer-env":       {"VENDOR_API_KEY", "--scorer=cmd:score", "--scorer-env=OTHER_TOKEN"},
	"floor":            {"0.755"},
	"floor-mode":       {"proven"},
	"floor-tag":        {"a=b,c=0.5", "--floor-tag=d=1"},
	"floor-family":     {"0.8"},
	"top-k":            {"11"},
	"candidate-k":      {"30", "--scenario=search-retrieve-only"},
	"max-per-document": {"2"},
	"rerank-top-n":     {"20", "--scenario=search-retrieve-only"},
	"require-mode":     {"same", "--mode=bm25"},
	"llm-provider":     {"ollama"},
	"model":            {"m"},
	"judge-panel":      {"strict,generous", "--scorer=judge"},
	"judge-cache":      {"replies"},
	"judge":            {"j"},
	"judge-rps":        {"0.25"},
	"judge-option":     {"max_tokens=900,temperature=none"},
	"judge-patience":   {"7s"},
	"max-cost-usd":     {"1.5"},
	"daemon-env":       {"VENDOR_API_KEY", "--daemon-env=OTHER_TOKEN"},
	"home-of-user":     {""},
	"start-timeout":    {"45s", "--start-timeout=50s"},
	"price":            {"a,b=1/2", "--price=n=0.25/2"},
	"resume":           {"other.journal"},
	"retry-errors":     {"", "--resume=other.journal"},
}

// parseRun parses a command line of run, without the environment of the test.
func parseRun(t *testing.T, args []string, more ...kong.Option) (*runCmd, map[string]*kong.Flag) {
	t.Helper()
	var c cli
	p := &process{args: append([]string{"run"}, args...), env: os.Getenv, stdout: io.Discard, stderr: io.Discard}
	k, err := parse(t.Context(), p, &c, more...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	flags := map[string]*kong.Flag{}
	for _, f := range k.Selected().Flags {
		flags[f.Name] = f
	}
	return &c.Run, flags
}

// resumed parses the command line of a resume of the run with these options.
func resumed(t *testing.T, options []byte, args ...string) (*runCmd, map[string]*kong.Flag) {
	t.Helper()
	id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 1}}
	j, err := journal.Create(t.TempDir(), id, time.Now(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	args = append(args, "--resume", j.Path())
	first, _ := parseRun(t, args)
	resolver, err := first.journalOptions(&process{env: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return parseRun(t, args, kong.Resolvers(resolver))
}

func optionsOf(t *testing.T, c *runCmd) []byte {
	t.Helper()
	options, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func withoutVariables(t *testing.T) {
	for _, name := range []string{"SVC_TOKEN", "SVC_LLM_PROVIDER", "SVC_LLM_MODEL", "SVC_EVAL_JUDGE_MODEL", budgetVariable} {
		t.Setenv(name, "") // to be restored
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

var base = []string{"--sdk=go", "--dataset=q.jsonl", "--scorer=exact"}

// baseWith returns base with a flag, whose value may be empty.
func baseWith(name, value string) []string {
	args := slices.Clone(base)
	if name == "target" { // is taken once, and has --sdk as its other name
		args = args[1:]
	}
	if value != "" {
		name += "=" + value
	}
	return append(args, "--"+name)
}

// TestFlagsAreKept: a resume takes every flag of run from the journal, unless project.NotKept says
// why not.
func TestFlagsAreKept(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	withoutVariables(t)
	_, defaults := parseRun(t, base)
	for name := range project.NotKept {
		if defaults[name] == nil && name != "estimate" && name != "queue" && name != "queue-wait" { // of replay
			t.Errorf("project.NotKept has --%s, which run does not have", name)
		}
	}
	for name := range defaults {
		sample := flagSamples[name]
		if sample == nil {
			t.Errorf("--%s is new: add a value of it to flagSamples", name)
			continue
		}
		if name == "resume" {
			continue // the journal of a resumed run is written before
		}
		run, given := parseRun(t, append(baseWith(name, sample[0]), sample[1:]...))
		options := optionsOf(t, run)
		_, after := resumed(t, options)
		want := given[name].Target.Interface()
		if cmp.Equal(want, defaults[name].Target.Interface()) {
			t.Errorf("--%s: the value %v of flagSamples is the default", name, want)
		}
		if project.NotKept[name] != "" {
			want = defaults[name].Target.Interface()
			if strings.Contains(string(options), `"`+name+`"`) {
				t.Errorf("--%s is in the journal: %s", name, options)
			}
		}
		if name == "dataset" || name == "corpus" || name == "baseline" || name == "judge-cache" || name == "prices" {
			path, err := filepath.Abs(want.(string))
			if err != nil {
				t.Fatal(err)
			}
			want = path
		}
		if diff := cmp.Diff(want, after[name].Target.Interface()); diff != "" {
			t.Errorf("--%s differs in the resume:\n%s", name, diff)
		}
	}
}

// TestResumeReadsEnvironment: a resume reads the variables again. A flag of the run takes
// precedence over them, and a flag of the resume over both.
func TestResumeReadsEnvironment(t *testing.T) {
	withoutVariables(t)
	t.Setenv("SVC_LLM_MODEL", "then")
	t.Setenv("SVC_TOKEN", "evk_secret-of-the-test")
	run, _ := parseRun(t, append([]string{"--judge=flag"}, base...))
	options := optionsOf(t, run)
	for _, not := range []string{"then", "evk_secret"} {
		if strings.Contains(string(options), not) {
			t.Errorf("%q is in the journal: %s", not, options)
		}
	}
	t.Setenv("SVC_LLM_MODEL", "now")
	t.Setenv("SVC_EVAL_JUDGE_MODEL", "now")
	after, _ := resumed(t, options)
	if after.Model != "now" || after.Judge != "flag" {
		t.Errorf("got %q and %q", after.Model, after.Judge)
	}
	if after, _ = resumed(t, options, "--judge=resume", "--top-k=3"); after.Judge != "resume" || after.TopK != 3 {
		t.Errorf("got %q and %d", after.Judge, after.TopK)
	}
	run, _ = parseRun(t, append([]string{"--model="}, base...))
	if after, _ = resumed(t, optionsOf(t, run)); after.Model != "" {
		t.Errorf("an empty flag gave way to the variable: %q", after.Model)
	}
}

// TestResumeKeepsCap: a cap from the variable is inherited unless the variable has another value.
func TestResumeKeepsCap(t *testing.T) {
	withoutVariables(t)
	t.Setenv(budgetVariable, "0.5")
	run, _ := parseRun(t, base)
	inherited := optionsOf(t, run)
	run, _ = parseRun(t, append([]string{"--max-cost-usd=0.5"}, base...))
	flag := optionsOf(t, run)
	if strings.Contains(string(flag), inheritedCap) {
		t.Errorf("a cap that a flag gives is not inherited: %s", flag)
	}
	for _, tt := range []struct {
		options        []byte
		variable, want string
		args           []string
	}{
		{inherited, "", "0.5", nil},
		{inherited, "2", "2", nil},
		{inherited, "2", "3", []string{"--max-cost-usd=3"}},
		{flag, "", "0.5", nil},
		{flag, "2", "0.5", nil},
		{flag, "2", "3", []string{"--max-cost-usd=3"}},
	} {
		t.Setenv(budgetVariable, tt.variable)
		if after, _ := resumed(t, tt.options, tt.args...); after.MaxCostUSD != tt.want || after.money.Cap == nil {
			t.Errorf("%s, variable %q, %q: got %q", tt.options, tt.variable, tt.args, after.MaxCostUSD)
		}
	}
}

// TestJournalOptions pins the options in a journal's first line: journals outlive the program that
// wrote them.
func TestJournalOptions(t *testing.T) {
	withoutVariables(t)
	t.Setenv(budgetVariable, "0.5")
	run, _ := parseRun(t, []string{
		"--sdk=py", "--dataset=/data/q.jsonl", "--corpus=/data/notes", "--limit=3", "--timeout=90s", "--price=m=1/2",
		"--price=n=2/3", "--llm-provider=fake", "--endpoint=http://127.0.0.1:1", "--json", "--token=t",
	})
	const want = `{"brain":"eval","candidate-k":"0","ci":"false","concurrency":"4","corpus":"/data/notes","dataset":"/data/q.jsonl",` +
		`"dialect":"auto","endpoint":"http://127.0.0.1:1","exact-case":"false","floor-mode":"point","home-of-user":"false","inherited-budget-usd":"0.5","isolated":"false","judge-patience":"5m0s","judge-rps":"20",` +
		`"limit":"3","llm-provider":"fake","margin":"0.03","max-errors":"10%","max-failures":"0","max-unscored":"10%","max-unusable":"20","mode":"auto","port":"0","price":["m=1/2","n=2/3"],` +
		`"repeats":"1","rerank-top-n":"0","scenario":"ask-basic","scorer":"judge","scorer-timeout":"1m0s","shuffle":"false","start-timeout":"0s","target":["py"],"timeout":"1m30s","top-k":"5","unmetered-daemon":"false"}`
	if diff := cmp.Diff(want, string(optionsOf(t, run))); diff != "" {
		t.Error(diff)
	}
	after, _ := resumed(t, []byte(want))
	if diff := cmp.Diff(run.Price, after.Price); diff != "" || *after.Limit != 3 || after.Timeout != run.Timeout ||
		after.Endpoint != run.Endpoint || after.Dataset != run.Dataset || after.Corpus != run.Corpus || after.MaxCostUSD != "0.5" {
		t.Errorf("got %+v\n%s", after, diff)
	}
	older := strings.NewReplacer(`"target"`, `"sdk"`, `"inherited-budget-usd"`, `"budget-usd"`).Replace(want)
	if after, _ = resumed(t, []byte(older)); !slices.Equal(after.Target, []string{"py"}) || after.MaxCostUSD != "0.5" {
		t.Errorf("of an older journal: %q and %q", after.Target, after.MaxCostUSD)
	}
}
