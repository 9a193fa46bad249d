package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/goldentest"
)

// saveNight writes the result of a night. A question that the outcomes mark with + has passed.
func saveNight(t *testing.T, root string, date time.Time, outcomes, version string) {
	t.Helper()
	res := result.Result{
		SDK: "go", ScorerName: "exact", StartedAt: date, FinishedAt: date.Add(time.Minute), Planned: len(outcomes),
		Identity: result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Scenario: result.AskBasic, Mode: "auto", TopK: 5,
			Dataset: result.DatasetID{Path: "data/core\x1b[31m.jsonl", SHA256: strings.Repeat("9f", 32), Selected: len(outcomes)},
			Daemon:  result.DaemonID{Program: "evalctl", Version: version},
		},
		Settings: result.Settings{Floor: 0.5},
	}
	sum := aggregate.New(5)
	var questions []result.Record
	for i, o := range outcomes {
		r := result.Record{ID: fmt.Sprintf("q-%03d", i), Outcome: result.Scored, Score: new(0.0)}
		if o == '+' {
			r.Passed, r.Score = true, new(1.0)
		}
		sum.Add(r)
		questions = append(questions, r)
	}
	sum.Fill(&res)
	sum.Judge(&res)
	data, err := json.Marshal(struct {
		result.Result
		Questions []result.Record `json:"questions"`
	}{res, questions})
	if err == nil {
		err = os.MkdirAll(filepath.Join(root, date.Format(time.DateOnly)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, date.Format(time.DateOnly), "go.json"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTrend compares the trend of ten nights, in which a new daemon lost questions, with
// testdata/trend.golden, or writes it with -update.
func TestTrend(t *testing.T) {
	root := t.TempDir()
	start := time.Date(2026, 9, 12, 3, 0, 4, 0, time.UTC)
	passes := strings.Repeat("+", 36)
	for i, q := range []string{"+-++", "+--+", "+-+-", "+--+", "+-++", "+--+", "--++", "-+-+", "-+++", "-+++"} {
		outcomes, version := q+passes, "1.4.0"
		if i >= 6 {
			outcomes, version = q+strings.Repeat("-", 12)+passes[12:], "1.5.0"
		}
		saveNight(t, root, start.AddDate(0, 0, i), outcomes, version)
	}
	var stdout, stderr bytes.Buffer
	p := &process{args: []string{"trend", root}, env: func(string) string { return "" }, stdout: &stdout, stderr: &stderr}
	if code := run(t.Context(), p); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	goldentest.Compare(t, "testdata/trend.golden", stdout.String())
}
