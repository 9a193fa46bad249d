package history_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/history"
	"evalctl/harness/result"
)

// made is a result with its questions, as a file has them.
type made struct {
	result.Result
	Questions []result.Record `json:"questions"`
}

// day is the start of the first night.
var day = time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC)

// run returns a result that began a number of days after day. Its questions are + passed, - failed,
// e an error, ? unscored.
func run(sdk string, days int, outcomes string) *made {
	at := day.AddDate(0, 0, days)
	m := &made{Result: result.Result{
		SDK: sdk, ScorerName: "exact", StartedAt: at, FinishedAt: at.Add(time.Minute), Planned: len(outcomes),
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: sdk, Scorer: "exact", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "data/q.jsonl", SHA256: strings.Repeat("9f", 32), Selected: len(outcomes)},
			Daemon:  result.DaemonID{Program: "evalctl", Version: "1.4.0"},
		},
		Settings: result.Settings{Concurrency: 1, TimeoutSeconds: 60, Floor: 0.5, MaxErrors: allowance("100%"), MaxUnscored: allowance("100%")},
	}}
	for i, o := range outcomes {
		r := result.Record{ID: fmt.Sprintf("q-%02d", i), Question: "Which?", Outcome: result.Scored, Score: new(0.0)}
		switch o {
		case '+':
			r.Passed, r.Score = true, new(1.0)
		case 'e':
			r.Outcome, r.Score, r.Error = result.Errored, nil, &result.Failure{Kind: result.KindTimeout, Message: "late"}
		case '?':
			r.Outcome, r.Score = result.Unscored, nil
		}
		m.Questions = append(m.Questions, r)
	}
	return m.fill()
}

func allowance(text string) result.Allowance {
	a, err := result.ParseAllowance(text)
	if err != nil {
		panic(err)
	}
	return a
}

// fill sets the figures to those of the questions.
func (m *made) fill() *made {
	sum := aggregate.New(5)
	for _, r := range m.Questions {
		sum.Add(r)
	}
	sum.Fill(&m.Result)
	sum.Judge(&m.Result)
	return m
}

// stop ends the run after n questions.
func (m *made) stop(n int) *made {
	m.Questions, m.Stopped = m.Questions[:n], result.StopInterrupted
	return m.fill()
}

// replay makes the run an arm of a replay.
func (m *made) replay(arm string) *made {
	m.Replay = &result.Replay{SchemaVersion: 1, Arm: arm}
	return m
}

// save writes the result to a file and returns its path.
func (m *made) save(t testing.TB, elements ...string) string {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return put(t, string(data), elements...)
}

// put writes a file and returns its path.
func put(t testing.TB, text string, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a folder.
func read(t testing.TB, root string) *history.Folder {
	t.Helper()
	f, err := history.Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// nights saves a run for each element and returns its only line.
func nights(t *testing.T, outcomes ...string) *history.Line {
	t.Helper()
	root := t.TempDir()
	for i, o := range outcomes {
		run("go", i, o).save(t, root, day.AddDate(0, 0, i).Format(time.DateOnly), "go.json")
	}
	lines := history.Lines(read(t, root).Entries, 0)
	if len(lines) != 1 {
		t.Fatalf("got %d lines, want 1", len(lines))
	}
	return lines[0]
}
