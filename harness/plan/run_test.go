package plan

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/harness/wording"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// specs returns a run of a daemon that this program starts, with two questions.
func specs(t *testing.T) (Spec, RunSpec) {
	t.Helper()
	questions := filepath.Join(t.TempDir(), "q.jsonl")
	lines := `{"id":"a","question":"What colour?","expected_substrings":["green"],"tags":["x"]}` + "\n" +
		`{"id":"b","question":"Which day?","expected_substrings":["Monday"]}` + "\n"
	filetest.Write(t, questions, lines)
	scenario, err := target.ScenarioOf(result.AskBasic)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := scorer.Find("exact")
	if err != nil {
		t.Fatal(err)
	}
	env := func(string) string { return "" }
	return Spec{
			Targets: Targets{Registry: target.Registry{Self: "/bin/evalctl", Env: env}}, Target: "go", Output: "results",
			Questions:   dataset.Spec{Path: questions, Options: dataset.Options{Naming: dataset.BrainNaming{Default: "eval"}, Repeats: 1}},
			Concurrency: 1, Timeout: time.Second,
		}, RunSpec{
			Models: Models{Money: Money{Prices: llm.DefaultPrices()}}, Scenario: scenario, Mode: "bm25", RequireMode: SameMode, TopK: 5, Scorer: exact,
		}
}

func TestNewRun(t *testing.T) {
	of, s := specs(t)
	s.Resume = "kept/2026-01-31/go.journal"
	r, err := NewRun(of, s)
	if err != nil {
		t.Fatal(err)
	}
	if r.RequireMode != "bm25" || r.Dir != "kept/2026-01-31" || r.Judging != nil || wording.DaemonEnv(r.Calls.DaemonEnv) != "" {
		t.Errorf("mode %q, folder %q, %v, %v", r.RequireMode, r.Dir, r.Judging, r.Calls.DaemonEnv)
	}
	id := r.Identity(result.StartedDaemon([]string{"evalctl", "serve"}))
	if id.Dataset.Selected != 2 || id.Reader == nil || id.Reader.Model != llm.ProviderFake || *id.ExactCase {
		t.Errorf("got %+v", id)
	}
}

// TestNewRunKeepsKeysBack: a started daemon gets neither the key nor the address of its provider,
// but those of a gateway. Only a daemon that may pay for what is not counted gets a key that is
// named.
func TestNewRunKeepsKeysBack(t *testing.T) {
	for name, tt := range map[string]struct {
		named             []string
		unmetered         bool
		upstream          bool
		passed, uncounted string
	}{
		"not named":        {upstream: true},
		"named":            {named: []string{"OPENAI_API_KEY"}, upstream: true},
		"past the gateway": {named: []string{"OPENAI_API_KEY"}, unmetered: true, passed: "OPENAI_API_KEY OPENAI_BASE_URL", uncounted: "OPENAI_API_KEY"},
		"of another":       {named: []string{"VENDOR_API_KEY"}, upstream: true, passed: "VENDOR_API_KEY", uncounted: "VENDOR_API_KEY"},
	} {
		of, s := specs(t)
		s.Reader, s.Unmetered = "openai/m", tt.unmetered
		of.Targets.Environ = []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://h", "VENDOR_API_KEY=k"}
		of.Targets.Env = func(name string) string {
			for _, v := range of.Targets.Environ {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		of.Targets.Passed = tt.named
		r, err := NewRun(of, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Session.Profile.Passed, " "); got != tt.passed {
			t.Errorf("%s: passed %q", name, got)
		}
		if up := r.Calls.Upstream; (up != nil) != tt.upstream || up != nil && (up.APIKey != "k" || r.Calls.Completion != "m") {
			t.Errorf("%s: %+v", name, r.Calls)
		}
		if got := strings.Join(r.Calls.Passed, " "); got != tt.uncounted {
			t.Errorf("%s: not counted with %q", name, got)
		}
		if got := strings.Join(r.Session.Profile.Env, " "); got != "SVC_LLM_PROVIDER=openai SVC_LLM_MODEL=m" {
			t.Errorf("%s: the daemon gets %q", name, got)
		}
	}
}

// TestLeft: the forecast of a resumed run is what the questions cost that it still has to judge.
func TestLeft(t *testing.T) {
	of, s := specs(t)
	of.Targets.Env = func(name string) string { return map[string]string{"OPENAI_API_KEY": "k"}[name] }
	lines := `{"id":"a","question":"What colour?","reference_answer":"It is green."}` + "\n" + `{"id":"b","question":"Which colour?","reference_answer":"It is the red of bricks."}` + "\n"
	filetest.Write(t, of.Questions.Path, lines)
	var err error
	if s.Scorer, err = scorer.Find("judge"); err != nil {
		t.Fatal(err)
	}
	s.Judge, of.Questions.Repeats = "openai/gpt-4o", 2
	r, err := NewRun(of, s)
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(t.TempDir(), r.Identity(result.StartedDaemon([]string{"evalctl", "serve"})), r.Started, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var each judging.Forecast // all four judgements, in the order of the run
	left := func(j *journal.Journal) judging.Forecast {
		t.Helper()
		f, err := r.Left(j)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for q, err := range r.Dataset.Passes() {
		if err != nil {
			t.Fatal(err)
		}
		each.Add(r.Judging, judging.Longest(q.Item()))
	}
	if left(nil) != each || left(j) != each || each.Likely == 0 {
		t.Errorf("of a new run %+v, of an empty journal %+v, want %+v", left(nil), left(j), each)
	}
	for i, rec := range []result.Record{
		{ID: "a", Repeat: 1, Outcome: result.Scored}, {ID: "b", Repeat: 1, Outcome: result.Errored, Error: &result.Failure{Kind: result.KindTransport}},
		{ID: "a", Repeat: 2, Outcome: result.Scored},
	} {
		kind := journal.KindGrade
		if rec.Outcome == result.Errored {
			kind = journal.KindAnswer
		}
		if err := j.Append(journal.Entry{Kind: kind, Index: i, Record: &rec}); err != nil {
			t.Fatal(err)
		}
	}
	once := left(j)
	r.RetryErrors = true
	if again := left(j); once.Likely == 0 || once.Times(2) != again || again.Worst >= each.Worst {
		t.Errorf("one question is left: %+v, and two with the one that failed: %+v", once, again)
	}
}

// TestCallsModel: a gateway to OpenAI does not give a request the model of another provider, and a
// service with a mapping gets a gateway only if its user names the key.
func TestCallsModel(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "k", "SVC_RERANK_PROVIDER": "llm", "SVC_RERANK_MODEL": "r"}
	targets := Targets{Registry: target.Registry{Env: func(name string) string { return env[name] }}}
	for provider, want := range map[string]string{llm.ProviderOpenAI: "m", llm.ProviderOllama: "", llm.ProviderFake: ""} {
		c, err := targets.Calls(target.Definition{}, &harness.SessionConfig{}, Asks{Model: llm.Ref{Provider: provider, Name: "m"}, Generates: true})
		if err != nil || c.Upstream == nil || c.Completion != want {
			t.Errorf("%s: %+v, %v", provider, c, err)
		}
	}
	for _, named := range [][]string{nil, {"OPENAI_API_KEY"}} {
		targets.Passed, targets.Environ = named, []string{"OPENAI_API_KEY=k"}
		c, err := targets.Calls(target.Definition{MCP: true}, &harness.SessionConfig{}, Asks{})
		if err != nil || (c.Upstream != nil) != (named != nil) {
			t.Errorf("%q: %+v, %v", named, c, err)
		}
	}
}

func TestNewRunRejects(t *testing.T) {
	judge, err := scorer.Find("judge")
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Spec, *RunSpec){
		"the judge needs a model: give --model or --judge":     func(_ *Spec, s *RunSpec) { s.Scorer = judge },
		`SVC_LLM_PROVIDER "x": must be openai, ollama or fake`: func(_ *Spec, s *RunSpec) { s.Provider = "x" },
		"reader: ": func(_ *Spec, s *RunSpec) { s.Reader = "openai/m" },
		"--daemon-env A_KEY: the variable is not set":           func(of *Spec, _ *RunSpec) { of.Targets.Passed = []string{"A_KEY"} },
		"--floor-tag y: no question has this tag; the tags are": func(_ *Spec, s *RunSpec) { s.Gate.TagFloors = map[string]float64{"y": 1} },
		"--baseline: ": func(_ *Spec, s *RunSpec) { s.Baseline = "none.json" },
		"--ids: ":      func(of *Spec, _ *RunSpec) { of.Criteria.IDs = []string{"@none"} },
		"--port is for a daemon that is started": func(of *Spec, _ *RunSpec) {
			of.Endpoint, of.Port = "http://127.0.0.1:1", 7001
		},
	} {
		of, s := specs(t)
		change(&of, &s)
		if _, err := NewRun(of, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
