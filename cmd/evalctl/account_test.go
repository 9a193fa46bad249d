package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// paidReply is what the provider of TestAccount replies. It counts what it is sent, as a real one
// does.
func paidReply(c llmtest.Call) llmtest.Reply {
	if len(c.Input) > 0 {
		return embeddingReply(c)
	}
	r := lanternModel(c)
	size := 0
	for _, m := range c.Messages {
		size += len(m.Content)
	}
	r.Input = size/4 + 10
	return r
}

// costs is the part about money of all files that commands write.
type costs struct {
	Cost       result.Spending `json:"cost"`
	Accounting struct {
		Shared llm.USD `json:"shared_usd"`
	} `json:"cost_accounting"`
}

// TestAccount runs every command that calls models, with a cap that is large enough and with
// smaller ones. The provider never counts more than the cap. The total of the result, the sum of
// the bill and the listed cost are the amount that it counts. A run that the cap has stopped is
// resumed with a higher one.
func TestAccount(t *testing.T) {
	t.Parallel()
	embeds := []string{"SVC_EMBED_PROVIDER=openai", "SVC_EMBED_MODEL=text-embedding-3-small"}
	const asks = "--target=go --dataset=q.jsonl --corpus=notes --model=openai/gpt-4o-mini --concurrency=2"
	for name, c := range map[string]struct {
		args, file string // the file that it writes, empty for none
		env        []string
		before     string // a command that comes first, and costs nothing
		model      bool   // the model of daemons is in the environment
	}{
		"run":                {args: "run " + asks + " --judge=openai/gpt-4o", file: "results/*/go-*.json"},
		"run, exact":         {args: "run " + asks + " --scorer=exact", file: "results/*/go-*.json"},
		"run, embeddings":    {args: "run " + asks + " --judge=openai/gpt-4o --mode=hybrid", file: "results/*/go-*.json", env: embeds},
		"run, panel":         {args: "run " + asks + " --judge=openai/gpt-4o --judge-panel=strict,generous", file: "results/*/go-*.json"},
		"run, before":        {args: "run " + strings.Replace(asks, "q.jsonl", "life.jsonl", 1) + " --scorer=exact --mode=hybrid", file: "results/*/go-*.json", env: embeds},
		"run, repeats":       {args: "run " + asks + " --judge=openai/gpt-4o --repeats=2 --isolated", file: "results/*/go-*.json"},
		"run, of a key":      {args: "run " + asks + " --scorer=exact --daemon-env=OPENAI_API_KEY", file: "results/*/go-*.json"},
		"sweep":              {args: "run sweep --target=go --dataset=q.jsonl --corpus=notes --mode=hybrid --top-k=1,2", file: "results/*/go.sweep-*.json", env: embeds},
		"bench":              {args: "bench --target=go --mix=ask --documents=5 --duration=300ms --rounds=1 --warm-up=0 --concurrency=1", file: "results/*/go.bench-*.json", model: true},
		"replay":             {args: "replay --target=go --dataset=lanterns.json --model=openai/gpt-4o-mini --output=r/a.json --cache=off", file: "r/a.json"},
		"replay, of daemons": {args: "replay --target=go --baseline=oracle --dataset=lanterns.json --model=openai/gpt-4o-mini --actor-style=full --ingest-mode=replay --output=r --cache=off", file: "r/*-2*Z-*.json", env: embeds},
		"judge check":        {args: "judge check --labels=labels.jsonl --judge=openai/gpt-4o"},
		"rescore": {
			before: "run --target=go --dataset=q.jsonl --corpus=notes --scorer=exact --llm-provider=fake --floor=0",
			args:   "rescore results/DAY/go.json --scorer=judge --judge=openai/gpt-4o", file: "results/*/go.rescored-*.json",
		},
	} {
		limits := []string{"1", "0.003", "0.0004"} // the last one refuses a command, whatever its options
		switch {
		case testing.Short():
			limits = limits[1:2]
		case strings.Contains(name, ","):
			limits = limits[:2]
		}
		for _, limit := range limits {
			t.Run(name+" "+limit, func(t *testing.T) {
				t.Parallel()
				a := newAccountRig(t, c.env, c.model)
				args := c.args
				if c.before != "" {
					a.run(t, strings.Fields(c.before))
					days, _ := filepath.Glob(filepath.Join(a.dir, "results", "*"))
					args = strings.ReplaceAll(args, "DAY", filepath.Base(days[0]))
					if billed := a.billed(); billed != 0 {
						t.Fatalf("%s was billed before", billed)
					}
				}
				code, out := a.run(t, append(strings.Fields(args), "--max-cost-usd="+limit))
				most, _ := llm.ParseUSD(limit)
				billed := a.billed()
				if billed > most {
					t.Errorf("billed %s of %s\n%s", billed, limit, out)
				}
				switch {
				case code == exitUsage && billed == 0 && limit != "1":
					return // refused
				case code == exitDaemon && limit != "1":
				case code != exitDone && code != exitBelowFloor && code != exitBudget:
					t.Errorf("exit code %d\n%s", code, out)
				}
				if limit == "1" && (billed == 0 || code == exitBudget) {
					t.Errorf("billed %s, exit code %d\n%s", billed, code, out)
				}
				if c.file == "" {
					return
				}
				a.check(t, c.file, billed, limit != "1" && (code == exitDaemon || code == exitBudget))
				if journals, _ := filepath.Glob(filepath.Join(a.dir, "results", "*", "go.journal")); code == exitBudget && len(journals) == 1 {
					code, out := a.run(t, []string{"run", "--resume", journals[0], "--max-cost-usd=1"})
					if code != exitDone && code != exitBelowFloor {
						t.Errorf("resumed: exit code %d\n%s", code, out)
					}
					a.check(t, c.file, a.billed(), false)
				}
			})
		}
	}
}

// accountRig is a folder with inputs, and a provider.
type accountRig struct {
	dir      string
	env      []string
	provider *llmtest.Server
}

func newAccountRig(t *testing.T, env []string, model bool) *accountRig {
	t.Helper()
	a := &accountRig{dir: t.TempDir(), provider: llmtest.NewServer(t, paidReply)}
	a.env = append([]string{"OPENAI_BASE_URL=" + a.provider.URL, "OPENAI_API_KEY=" + llmSecret, "SVC_LLM_PROVIDER=", "SVC_HOME=",
		"SVC_CACHE_DIR=" + filepath.Join(a.dir, "cache"), "XDG_CACHE_HOME=" + filepath.Join(a.dir, "xdg")}, env...)
	if model {
		a.env = append(a.env, "SVC_LLM_PROVIDER=openai", "SVC_LLM_MODEL=gpt-4o-mini")
	}
	var questions, life, labels strings.Builder
	for i := range 6 {
		question := fmt.Sprintf(`"id":"q%d","question":"Which colour has boat %[1]d?","expected_substrings":["green"],"expected_paths":["boat-%[1]d.md"],"reference_answer":"Green."`, i)
		fmt.Fprintf(&questions, "{%s}\n", question)
		fmt.Fprintf(&life, `{%s,"before":[{"op":"put","path":"new-%d.md","text":"Boat %[2]d is green."}]}`+"\n", question, i)
		fmt.Fprintf(&labels, `{"id":"%d","question":"Which colour has the boat?","reference_answer":"Green.","answer":"It is %s.","label":%t}`+"\n",
			i, []string{"green", "red"}[i%2], i%2 == 0)
		a.put(t, fmt.Sprintf("notes/boat-%d.md", i), fmt.Sprintf("Boat %d is painted green. It is old.", i))
	}
	a.put(t, "q.jsonl", questions.String())
	a.put(t, "life.jsonl", life.String())
	a.put(t, "labels.jsonl", labels.String())
	benchmark := filetest.Read(t, lanterns(t, 3))
	a.put(t, "lanterns.json", string(benchmark))
	return a
}

func (a *accountRig) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	filetest.Write(t, path, text)
}

func (a *accountRig) run(t *testing.T, args []string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "evalctl", append([]string{"--config=none"}, args...)...)
	cmd.Dir, cmd.Env = a.dir, append(os.Environ(), a.env...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		code = exit.ExitCode()
	}
	return code, string(out)
}

func (a *accountRig) billed() llm.USD { return bill(a.provider.Calls(), paidReply) }

// check compares the files that a command has written with the provider's bill. broken is set if it
// may have written none.
func (a *accountRig) check(t *testing.T, pattern string, billed llm.USD, broken bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a.dir, pattern))
	if err != nil || len(files) == 0 && !broken {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, filepath.Dir(pattern), "*.ledger")); !broken && len(left) > 0 {
		t.Errorf("nothing can be resumed, but %q is left", left)
	}
	var totals, sums, mayHave, shared, listed llm.USD
	for _, file := range files {
		data := filetest.Read(t, file)
		var c costs
		if err := json.Unmarshal(data, &c); err != nil || c.Cost.TotalUSD == nil || c.Cost.Parts == nil {
			t.Fatalf("%s: %v, %+v", file, err, c)
		}
		totals, mayHave = totals.Plus(*c.Cost.TotalUSD), mayHave.Plus(c.Cost.Parts.MayHaveUSD)
		if len(files) > 1 {
			shared = c.Accounting.Shared // of all arms, and in the total of none
		}
		if c.Cost.Bill != nil {
			parts, err := resultfile.SumBill(c.Cost.Bill, file)
			if err != nil || parts != *c.Cost.Parts {
				t.Errorf("the bill has %+v, the file %+v: %v", parts, *c.Cost.Parts, err)
			}
			sums = sums.Plus(parts.Total())
		}
		if code, out := a.run(t, []string{"verify", file}); code != exitDone {
			t.Errorf("verify: exit code %d\n%s", code, out)
		}
	}
	all := totals.Plus(shared)
	if len(files) > 0 && (all < billed || all-mayHave > billed || sums != totals) {
		t.Errorf("billed %s, in the files %s with up to %s that may have been charged, shared %s, on the bills %s", billed, totals, mayHave, shared, sums)
	}
	f, err := history.Read(filepath.Join(a.dir, strings.Split(pattern, "/")[0]), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Entries {
		if e.Result != nil {
			listed = listed.Plus(e.SpentUSD)
		}
	}
	if listed != 0 && listed != totals {
		t.Errorf("listed %s, in the files %s", listed, totals)
	}
}

// TestAccountPassedBy: the result of a daemon that answers without the gateway says that its cost
// may be missing, and so does one whose requests the gateway refuses.
func TestAccountPassedBy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ serve, want string }{
		"silent":  {`SVC_LLM_PROVIDER=fake exec evalctl serve --addr "$0" --home "$1"`, "sent no request to the gateway"},
		"refused": {`OPENAI_BASE_URL="$OPENAI_BASE_URL/other" exec evalctl serve --addr "$0" --home "$1"`, "requests to /v1/other/chat/completions refused: 404"},
	} {
		a := newAccountRig(t, nil, false)
		_, out := a.run(t, []string{"run", "--target=go", "--daemon-cmd=sh -c '" + c.serve + "' {addr} {home}", "--dataset=q.jsonl", "--corpus=notes",
			"--model=openai/gpt-4o-mini", "--scorer=exact", "--floor=0", "--max-cost-usd=1"})
		files, err := filepath.Glob(filepath.Join(a.dir, "results/*/go-*.json"))
		if err != nil || len(files) != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, %q\n%s", name, err, files, out)
			continue
		}
		if code, out := a.run(t, []string{"verify", files[0]}); code != exitDone {
			t.Errorf("%s: %s", name, out)
		}
	}
}
