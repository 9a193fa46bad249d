package compare

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
)

func TestMain(m *testing.M) {
	longtest.CollectRarely()
	m.Run()
}

// file is a result file under construction.
type file struct {
	resulttest.File
	Invalid string `json:"-"` // why it is not a score
}

// newFile returns a result in which questions q000, q001 … passed as the verdicts say: p for pass,
// f for fail, e for error, u for unscored, n for no gold.
func newFile(sdk, verdicts string) *file {
	f := &file{}
	f.SDK, f.ScorerName = sdk, "judge"
	f.StartedAt = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	f.EffectiveModes, f.Fusions = map[string]int{"bm25": 1}, map[string]int{"score 0.2": 1}
	f.ReaderModels = map[string]int{"m": 1}
	f.ReaderPrompts = map[string]int{"p1": 1}
	f.Settings.Concurrency = 4
	f.Identity = result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: sdk, Scorer: "judge", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
		Dataset: result.DatasetID{Path: "q.jsonl", SHA256: strings.Repeat("d", 64)},
		Corpus:  &result.CorpusID{SHA256: strings.Repeat("c", 64)},
		Judge:   &result.JudgeModel{Provider: "openai", Model: "gpt", PromptVersion: "v1", PromptSHA256: strings.Repeat("a", 64)},
		Daemon:  result.DaemonID{Program: sdk, Version: "1"},
		Tool:    result.ToolID{Version: "0.1", OS: "linux", Arch: "amd64", CPUs: 2},
	}
	for i, v := range verdicts {
		f.Questions = append(f.Questions, record(i, v))
	}
	return f
}

func record(i int, verdict rune) result.Record {
	id := fmt.Sprintf("q%03d", i)
	r := result.Record{
		ID: id, Question: "What is " + id + "?", Reference: "it is " + id,
		Reply: result.Reply{Answer: "it is " + id, LatencyMS: 100, Attempts: 1},
		Tags:  []string{fmt.Sprintf("conv:%d", i/5)}, Outcome: result.Scored, Line: i + 1,
	}
	switch verdict {
	case 'p':
		r.Passed, r.Score = true, new(1.0)
	case 'f':
		r.Score = new(0.0)
	case 'e':
		r.Outcome, r.Error = result.Errored, &result.Failure{Message: "gone"}
	case 'u':
		r.Outcome = result.Unscored
	case 'n':
		r.Outcome = result.NoGold
	}
	return r
}

// write completes the counts and writes the file.
func (f *file) write(t testing.TB, path string) string {
	t.Helper()
	f.Counts = result.Counts{}
	for _, r := range f.Questions {
		f.Counts.Add(r)
	}
	f.Total, f.Passed, f.PassRate = f.Counts.Total, f.Counts.Passed, f.Counts.PassRate()
	f.Planned = max(f.Planned, len(f.Questions))
	verdict := result.Fail
	if f.Stopped != "" {
		verdict = result.Inconclusive
	}
	if f.Invalid != "" {
		verdict = result.Invalid
	}
	f.Gate = &result.Gate{Verdict: verdict, Sentence: f.Invalid, Reason: result.ReasonFloor, Total: f.Total, Passed: f.Passed, Stopped: f.Stopped}
	return f.Save(t, path)
}

// open writes the file to a folder of its own and opens it.
func (f *file) open(t testing.TB) *Run {
	t.Helper()
	run, err := Open(f.write(t, filepath.Join(t.TempDir(), f.SDK+".json")))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// ofLines are the settings that runs in JSON lines do not record.
var ofLines = []string{"dataset", "scorer", "reader"}

// openLines opens a run in JSON lines.
func openLines(t testing.TB, name, text string) *Run {
	t.Helper()
	path := filetest.Write(t, filepath.Join(t.TempDir(), name+".jsonl"), text)
	run, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// mustCompare compares with few resamples.
func mustCompare(t testing.TB, opts Options, runs ...*Run) *Comparison {
	t.Helper()
	if opts.Resamples == 0 {
		opts.Resamples = 200
	}
	c, err := Compare(runs, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
