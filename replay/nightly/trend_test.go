package nightly

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// rows returns the rows of the trend of an arm, without the ends of the lines.
func rows(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| 20") {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |\n"))
		}
	}
	return out
}

// TestTrend has one night of each kind.
func TestTrend(t *testing.T) {
	root := t.TempDir()
	night := func(before int, file string, change func(*made)) {
		m := replayOf("go", every(6)).at(before)
		change(m)
		m.Save(t, root, tonight.AddDate(0, 0, -before).Format(time.DateOnly), file)
	}
	same := func(*made) {}
	night(14, "go.json", same) // too long ago
	night(9, "go.json", same)
	night(8, "go.json", func(m *made) { m.Identity.Dataset.SHA256 = strings.Repeat("00", 32) })
	night(7, "go.json", func(m *made) { m.Identity.Replay.Sample = "fifty others" })
	night(6, "go.json", func(m *made) { m.Identity.Replay.Actor.Style = "full" })
	night(5, "replay-030004/go.json", func(m *made) { m.Identity.Daemon.Version = "1.3.0" })
	night(4, "go.json", func(m *made) { m.Questions, m.Stopped = m.Questions[:9], result.StopBudget; m.fill() })
	night(3, "go.json", func(m *made) { m.Questions, m.Stopped = m.Questions[:9], result.StopBudget; m.fill() })
	night(3, "go.030500.json", func(m *made) {
		m.StartedAt, m.FinishedAt = m.StartedAt.Add(-time.Hour), m.FinishedAt.Add(-time.Hour)
	})
	night(2, "ts.json", func(m *made) { m.Replay.Arm = "ts" })
	night(1, "go.json", func(m *made) { m.Replay = nil }) // of evalctl run
	night(0, "go.early.json", func(m *made) { m.StartedAt = m.StartedAt.Add(-time.Hour) })
	path := replayOf("go", every(6)).Save(t, root, "2026-09-21", "go.json")

	page := reportOf(t, root, Arm{Name: "go", Path: path})
	want := []string{
		"2026-09-12 | 0.831 | 0.737–0.897 | 69/83 | `pass` | \\$2.793 | ",
		"2026-09-13 | – | – | – | missing | – | ",
		"2026-09-14 | – | – | – | missing | – | ",
		"2026-09-15 | – | – | – | missing | – | ",
		"2026-09-16 | 0.831 | 0.737–0.897 | 69/83 | `pass` | \\$2.793 | `daemon.version`",
		"2026-09-17 | – | – | 7/9 | `budget exceeded` | \\$2.793 | `daemon.version`",
		"2026-09-18 | 0.831 | 0.737–0.897 | 69/83 | `pass` | \\$2.793 | (1 other result of this night not shown)",
		"2026-09-19 | – | – | – | missing | – | ",
		"2026-09-20 | – | – | – | missing | – | ",
		"2026-09-21 | 0.831 | 0.737–0.897 | 69/83 | `pass` | \\$2.793 | (1 other result of this night not shown)",
	}
	if got := rows(page); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, want := range []string{"`go` · ▅···▅·▅··▅ · from 0.78 (▁) to 0.88 (█)", "3 results left out, with another dataset, sample, style, or none recorded."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing:\n%s", want, page)
		}
	}
}

// TestTrendNamesUnreadableFiles has more of them than are named.
func TestTrendNamesUnreadableFiles(t *testing.T) {
	root := t.TempDir()
	for i := range 7 {
		filetest.Write(t, filepath.Join(root, "2026-09-20", fmt.Sprintf("broken%d.json", i)), `{"sdk":`)
	}
	filetest.Write(t, filepath.Join(root, "2026-09-20", "go.sweep.json"), `{}`)
	path := replayOf("go", every(6)).Save(t, t.TempDir(), "go.json")
	page := reportOf(t, root, Arm{Name: "go", Path: path})
	for _, want := range []string{"not read: `read ", "broken0.json", "broken4.json", "and 2 more"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing:\n%s", want, page)
		}
	}
	if strings.Contains(page, "broken5") || strings.Contains(page, "sweep") || len(rows(page)) != 0 {
		t.Errorf("too much is shown:\n%s", page)
	}
}

// TestTrendOfAFolderThatIsMissing has only the night of the report.
func TestTrendOfAFolderThatIsMissing(t *testing.T) {
	path := replayOf("go", every(6)).Save(t, t.TempDir(), "go.json")
	page := reportOf(t, filepath.Join(t.TempDir(), "none"), Arm{Name: "go", Path: path})
	if got := rows(page); len(got) != 0 || strings.Contains(page, "not read") || !strings.Contains(page, "No earlier result of the last 14 days: `go`.") {
		t.Errorf("rows %q in\n%s", got, page)
	}
}
