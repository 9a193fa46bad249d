package main

import (
	"strings"
	"testing"
	"time"

	"evalctl/harness/resulttest"
	"evalctl/internal/goldentest"
)

// saveNight writes the result of a night. A question that the outcomes mark with + has passed.
func saveNight(t *testing.T, root string, date time.Time, outcomes, version string) {
	t.Helper()
	f := resulttest.New("go", date, outcomes)
	f.Identity.Dataset.Path, f.Identity.Daemon.Version = "data/core\x1b[31m.jsonl", version
	f.Save(t, root, date.Format(time.DateOnly), "go.json")
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
	code, stdout, stderr := inProcess(t.Context(), "show", "trend", root)
	closing := "reason      go: 0.958 → 0.662 on 2026-09-18, p=0.015\n  next        evalctl compare "
	if code != 0 || !strings.Contains(stderr, closing) || strings.Count(stderr, "\n") != 4 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	goldentest.Compare(t, "testdata/trend.golden", stdout)
}
