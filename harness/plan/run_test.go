package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// specs returns a run of a daemon that this program starts, with two questions.
func specs(t *testing.T) (Spec, RunSpec) {
	t.Helper()
	questions := filepath.Join(t.TempDir(), "q.jsonl")
	lines := `{"id":"a","question":"What colour?","expected_substrings":["green"],"tags":["x"]}` + "\n" +
		`{"id":"b","question":"Which day?","expected_substrings":["Monday"]}` + "\n"
	if err := os.WriteFile(questions, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
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
			Models: Models{Prices: llm.DefaultPrices()}, Scenario: scenario, Mode: "bm25", RequireMode: SameMode, TopK: 5, Scorer: exact,
		}
}

func TestNewRun(t *testing.T) {
	of, s := specs(t)
	s.Resume = "kept/2026-01-31/go.journal"
	r, err := NewRun(of, s)
	if err != nil {
		t.Fatal(err)
	}
	if r.RequireMode != "bm25" || r.Dir != "kept/2026-01-31" || r.Judging != nil || r.DaemonEnv != nil {
		t.Errorf("mode %q, folder %q, %v, %v", r.RequireMode, r.Dir, r.Judging, r.DaemonEnv)
	}
	id := r.Identity(result.StartedDaemon([]string{"evalctl", "serve"}))
	if id.Dataset.Selected != 2 || id.Reader == nil || id.Reader.Model != llm.ProviderFake || *id.ExactCase {
		t.Errorf("got %+v", id)
	}
}

// TestNewRunKeepsCredentialsBack: only a run with a cap does, and it passes on what the daemon's own
// models need.
func TestNewRunKeepsCredentialsBack(t *testing.T) {
	of, s := specs(t)
	s.Environ, s.Cap, s.Reader = []string{"OPENAI_API_KEY=k", "VENDOR_API_KEY=k"}, new(llm.USD), "openai/m"
	of.Targets.Env = func(name string) string {
		if name == "OPENAI_API_KEY" {
			return "k"
		}
		return ""
	}
	r, err := NewRun(of, s)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Session.Profile.Withheld, " "); got != "VENDOR_API_KEY" {
		t.Errorf("withheld %q", got)
	}
	if got := strings.Join(r.Session.Profile.Env, " "); got != "SVC_LLM_PROVIDER=openai SVC_LLM_MODEL=m" {
		t.Errorf("the daemon gets %q", got)
	}
	if got := r.PaidModels(); len(got) != 1 || got[0] != "m" {
		t.Errorf("paid models %q", got)
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
		"--daemon-env has no effect without a cap":              func(_ *Spec, s *RunSpec) { s.Passed = []string{"A_KEY"} },
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
