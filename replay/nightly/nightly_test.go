package nightly

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
)

// TestReportOfOneArm writes the report of the last of several nights.
func TestReportOfOneArm(t *testing.T) {
	root := t.TempDir()
	for before, n := range map[int]int{13: 6, 12: 5, 11: 6, 8: 7, 7: 6, 3: 6, 1: 5} {
		m := replayOf("go", every(n)).at(before)
		if before <= 7 {
			m.Identity.Corpus = &result.CorpusID{SHA256: strings.Repeat("c1", 32)}
		}
		m.Save(t, root, m.StartedAt.Format("2006-01-02"), "go.replay.json")
	}
	m := replayOf("go", every(6))
	m.Identity.Corpus = &result.CorpusID{SHA256: strings.Repeat("c1", 32)}
	m.Replay.Weighted = &result.Estimate{Mean: 0.827, SE: new(0.036), Interval: result.Interval{Low: 0.744, High: 0.888}}
	m.Replay.Macro = new(0.831)
	m.Replay.Errata = &result.ErrataUse{Path: "errata.json", SHA256: strings.Repeat("ab", 32), Excluded: 2, Corrected: 1,
		IDs: []string{"q-001", "q-004", "q-009"}, Original: result.Counts{Total: 85, Passed: 70, Scored: 85},
		OriginalPassRate: new(0.824), OriginalInterval: &result.Interval{Method: result.MethodWilson, Confidence: 0.95, Low: 0.729, High: 0.890}}
	path := m.Save(t, root, "2026-09-21", "go.replay.json")
	goldentest.Compare(t, "testdata/one.md", strings.ReplaceAll(reportOf(t, root, Arm{Name: "go", Path: path}), root, "results"))
}

// TestReportOfThreeArms writes the report of daemons of which one died.
func TestReportOfThreeArms(t *testing.T) {
	dir := t.TempDir()
	died := replayOf("py", every(5))
	died.Questions, died.Stopped = died.Questions[:20], result.StopDaemon
	died.fill()
	goldentest.Compare(t, "testdata/arms.md", strings.ReplaceAll(reportOf(t, dir,
		Arm{Name: "ts", Path: replayOf("ts", every(4)).Save(t, dir, "2026-09-21", "replay-030004", "ts.json")},
		Arm{Name: "go", Path: replayOf("go", every(6)).Save(t, dir, "2026-09-21", "replay-030004", "go.json")},
		Arm{Name: "py", Path: died.Save(t, dir, "2026-09-21", "replay-030004", "py.json"),
			Problem: "the daemon died: exit status 1"},
		Arm{Name: "oracle", Problem: "no model writes the answers"},
	), dir, "results"))
}

func TestReportWithoutAResult(t *testing.T) {
	got := reportOf(t, "", Arm{Name: "go", Problem: "port 18850 is taken"}, Arm{Name: "ts"})
	for _, want := range []string{"# Replay without a result", "## No result: `go`\n\n- `port 18850 is taken`\n", "## No result: `ts`\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

// TestReportNamesDamagedResults writes the report of results that cannot be read.
func TestReportNamesDamagedResults(t *testing.T) {
	dir := t.TempDir()
	empty := filetest.Write(t, filepath.Join(dir, "empty.json"), "{")
	got := reportOf(t, dir, Arm{Name: "a", Path: empty}, Arm{Name: "b", Path: filepath.Join(dir, "none.json"), Problem: "killed"})
	for _, want := range []string{"empty.json", "killed; open result:", "none.json"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

// TestNoScore checks that a rate is not called one where it says nothing about the memory.
func TestNoScore(t *testing.T) {
	dir := t.TempDir()
	stopped := replayOf("go", every(6))
	stopped.Questions, stopped.Stopped = stopped.Questions[:40], result.StopBudget
	stopped.fill()
	misjudged := replayOf("go", every(6))
	for range 4 {
		misjudged.Replay.Controls.Failed = append(misjudged.Replay.Controls.Failed, result.FailedControl{ID: "q-001", Kind: "vague", Answer: "Hm."})
	}
	misjudged.Replay.Controls.Count()
	misjudged.fill()
	for name, c := range map[string]struct {
		made *made
		want string
	}{
		"stopped":   {stopped, "## Inconclusive: `go` was stopped after 40 of 83 questions\n"},
		"misjudged": {misjudged, "## Invalid: the result of `go` is not a score\n\n- `the scorer misjudged 4 of 25 control items"},
	} {
		got := reportOf(t, dir, Arm{Name: "go", Path: c.made.Save(t, dir, name+".json")})
		if !strings.Contains(got, c.want) || strings.Contains(got, "| pass rate |") {
			t.Errorf("%s: %q is missing, or there is a pass rate:\n%s", name, c.want, got)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("disk full")

func TestReportReturnsErrorsOfTheWriter(t *testing.T) {
	if err := Report(full{}, report.Arms{{Name: "go"}}, nil, ""); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}
