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
	if r.RequireMode != "bm25" || r.Dir != "kept/2026-01-31" || r.Judging != nil || r.DaemonEnv.Text() != "" {
		t.Errorf("mode %q, folder %q, %v, %v", r.RequireMode, r.Dir, r.Judging, r.DaemonEnv)
	}
	id := r.Identity(result.StartedDaemon([]string{"evalctl", "serve"}))
	if id.Dataset.Selected != 2 || id.Reader == nil || id.Reader.Model != llm.ProviderFake || *id.ExactCase {
		t.Errorf("got %+v", id)
	}
}

// TestNewRunKeepsKeysBack: a started daemon gets the address of its provider, and a key only if it is
// named.
func TestNewRunKeepsKeysBack(t *testing.T) {
	of, s := specs(t)
	s.Reader = "openai/m"
	of.Targets.Environ = []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://h", "VENDOR_API_KEY=k"}
	of.Targets.Env = func(name string) string {
		for _, v := range of.Targets.Environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	if _, err := NewRun(of, s); err == nil || !strings.Contains(err.Error(), "add --daemon-env OPENAI_API_KEY") {
		t.Errorf("without its key: %v", err)
	}
	of.Targets.Passed = []string{"OPENAI_API_KEY"}
	r, err := NewRun(of, s)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Session.Profile.Passed, " "); got != "OPENAI_API_KEY OPENAI_BASE_URL" {
		t.Errorf("passed %q", got)
	}
	if got := strings.Join(r.DaemonEnv.Withheld, " "); got != "VENDOR_API_KEY" {
		t.Errorf("withheld %q", got)
	}
	if got := strings.Join(r.Session.Profile.Env, " "); got != "SVC_LLM_PROVIDER=openai SVC_LLM_MODEL=m" {
		t.Errorf("the daemon gets %q", got)
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
