package report

import (
	"strings"
	"testing"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// closed returns what a terminal shows last of a document, a field a line.
func closed(d Conclusion, next string) string {
	var b strings.Builder
	Closing(terminal.New(&b, func(string) string { return "" }, false), d, next)
	return b.String()
}

// TestClosing checks the last lines of runs: a floor is named if it was given, by the reason alone
// if it is the default, and not at all if there is none.
func TestClosing(t *testing.T) {
	const page = "  next        evalctl show results/2026-09-21/go.json --html report.html\n"
	for name, c := range map[string]struct {
		from result.FloorFrom
		next string
		want string
	}{
		"given": {result.FloorGiven, "", "\n  verdict     Fail: go passed 11 of 14 questions (0.786), floor 0.8\n" +
			"  reason      11/14 misses the floor 0.8 (needs 12)\n" + page},
		"default": {result.FloorDefault, "", "\n  verdict     Fail: go passed 11 of 14 questions (0.786)\n" +
			"  reason      11/14 misses the floor 0.8, the default (needs 12)\n" + page},
		"none": {result.FloorNone, "", "\n  verdict     Measured: go passed 11 of 14 questions (0.786)\n" +
			"  reason      pass rate 0.786, 95% CI 0.524–0.924 (Wilson)\n" + page},
		"resumable": {result.FloorNone, "evalctl run --resume go.journal", "\n  verdict     Measured: go passed 11 of 14 questions (0.786)\n" +
			"  reason      pass rate 0.786, 95% CI 0.524–0.924 (Wilson)\n  next        evalctl run --resume go.journal\n"},
	} {
		run := runOf(14)
		run.Questions[0].Passed, run.Questions[0].Score = false, new(0.0)
		if run.Result.Settings.FloorFrom = c.from; c.from == result.FloorNone {
			run.Result.Settings.Floor = 0
		}
		run.fill()
		if got := closed(run, c.next); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
}

// TestCommandOnOneLine: a shell would run the lines of a broken command one by one.
func TestCommandOnOneLine(t *testing.T) {
	var b strings.Builder
	Closing(terminal.New(&b, func(string) string { return "40" }, false), runOf(14), "")
	if !strings.Contains(b.String(), "  next        evalctl show results/2026-09-21/go.json --html report.html\n") {
		t.Errorf("the command is broken:\n%s", b.String())
	}
}

// TestClosingOfArms checks that the arm that ended worst gives the verdict, and that arms which
// cannot be compared have no ranking.
func TestClosingOfArms(t *testing.T) {
	good := runOf(5)
	stopped := runOf(12)
	stopped.Result.Planned, stopped.Result.Stopped = 15, result.StopDaemon
	stopped.fill()
	refused := &compare.Arms{Refused: &key.IncomparableError{Names: []string{"go", "ts"}, Differing: []string{"effective_modes"}}}
	for name, c := range map[string]struct {
		replay Replay
		want   []string
	}{
		"stopped": {Replay{Arms: Arms{{Name: "go", Run: good}, {Name: "ts", Run: stopped, Problem: "the daemon died"}}, Compared: &compare.Arms{}},
			[]string{"verdict     Inconclusive: ts was stopped after 12 of 15 questions", "reason      stopped after 12 of 15 questions, this is not a score: the daemon died"}},
		"no result": {Replay{Arms: Arms{{Name: "ts", Run: stopped}, {Name: "py", Problem: "no such file"}}, Compared: &compare.Arms{}},
			[]string{"verdict     No result: py", "reason      no such file"}},
		"refused": {Replay{Arms: Arms{{Name: "go", Run: good}, {Name: "ts", Run: good}}, Compared: refused},
			[]string{"verdict     Not comparable, so there is no ranking", "next        evalctl compare results/2026-09-21/go.json results/2026-09-21/go.json\n"}},
	} {
		got := closed(c.replay, "")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, got)
			}
		}
	}
}
