package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness"
	"evalctl/harness/aggregate"
	"evalctl/harness/project"
	"evalctl/harness/report"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// stops are the causes of stopped runs, with an error of each and its exit code.
var stops = map[result.Stop]struct {
	err  error
	code int
}{
	result.StopBudget:      {llm.ErrBudgetExceeded, exitBudget},
	result.StopInterrupted: {errors.New("interrupt"), exitInterrupted},
	result.StopDaemon:      {harness.ErrDaemonDied, exitDaemon},
	result.StopMode:        {harness.ErrMode, exitDaemon},
	result.StopScorer:      {errors.New("401"), exitUsage},
	result.StopFailed:      {errors.New("disk full"), exitUsage},
}

// drawResult draws the result of a run and what stopped it.
func drawResult(t *rapid.T) (result.Result, error) {
	sum := aggregate.New(5)
	add := func(name string, r result.Record, most int) {
		for range rapid.IntRange(0, most).Draw(t, name) {
			sum.Add(r)
		}
	}
	gold := func(rank int) *result.QuestionRetrieval {
		return &result.QuestionRetrieval{Gold: scorer.Ranking{{Path: "a.md", Gain: 1, Rank: rank}}}
	}
	add("passed", result.Record{Outcome: result.Scored, Score: new(1.0), Passed: true}, 30)
	add("unknown", result.Record{Outcome: result.Scored, Score: new(0.0)}, 3)
	add("missed", result.Record{Outcome: result.Scored, Score: new(0.0), ExpectedPaths: []string{"a.md"},
		Reply: result.Reply{Retrieval: gold(0)}}, 3)
	add("misread", result.Record{Outcome: result.Scored, Score: new(0.0), ExpectedPaths: []string{"a.md"},
		Reply: result.Reply{Retrieval: gold(2)}}, 3)
	add("errors", result.Record{Outcome: result.Errored}, 3)
	add("unscored", result.Record{Outcome: result.Unscored}, 3)
	add("no gold", result.Record{Outcome: result.NoGold}, 2)
	max, err := result.ParseAllowance(rapid.SampledFrom([]string{"0", "3", "10%", "100%"}).Draw(t, "max"))
	if err != nil {
		t.Fatal(err)
	}
	res := result.Result{
		SDK: "go", Planned: sum.Finished(),
		Identity: result.Identity{Scenario: rapid.SampledFrom([]result.Scenario{result.AskBasic, result.SearchOnly}).Draw(t, "scenario")},
		Settings: result.Settings{Floor: float64(rapid.IntRange(0, 20).Draw(t, "floor")) / 20, MaxUnscored: max},
	}
	var cause error
	if rapid.IntRange(0, 2).Draw(t, "stop") == 0 {
		res.Stopped = rapid.SampledFrom([]result.Stop{result.StopBudget, result.StopInterrupted, result.StopDaemon, result.StopMode, result.StopScorer, result.StopFailed}).Draw(t, "stopped")
		res.Planned++
		cause = fmt.Errorf("asking: %w", stops[res.Stopped].err)
	}
	sum.Fill(&res)
	sum.Judge(&res)
	return res, cause
}

// TestVerdictIsOne checks that the report, the JSON, the last line on stderr and the exit code
// never disagree about a run.
func TestVerdictIsOne(t *testing.T) {
	seen := map[result.Reason]int{}
	rapid.Check(t, func(t *rapid.T) {
		res, cause := drawResult(t)
		g := *res.Gate
		seen[g.Reason]++
		err := verdict(g, cause)
		code := exitCode(t.Context(), err)

		want := map[result.Reason]int{
			result.ReasonFloor: exitBelowFloor, result.ReasonNoAnswers: exitDaemon, result.ReasonNoQuestions: exitDaemon,
			result.ReasonLost: exitUnscored, result.ReasonStopped: stops[res.Stopped].code,
		}[g.Reason]
		if g.Verdict == result.Pass {
			want = exitDone
		}
		if code != want || (err == nil) != (g.Verdict == result.Pass) {
			t.Fatalf("%s %s: exit code %d, want %d (%v)", g.Verdict, g.Reason, code, want, err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), g.Sentence) || cause != nil && !errors.Is(err, cause)) {
			t.Errorf("got %q of %q", err, g.Sentence)
		}

		var printed bytes.Buffer
		report.Text(terminal.New(&printed, nil, false), &report.Run{Result: res})
		for word, verdict := range map[string]result.Verdict{
			`  floor .*  PASS  `: result.Pass, `  floor .*  FAIL  `: result.Fail, `(?m)^  stopped  .*this is not a score$`: result.Inconclusive, `(?m)^  invalid  `: result.Invalid,
		} {
			if got := regexp.MustCompile(word).Match(printed.Bytes()); got != (verdict == g.Verdict) {
				t.Errorf("%s: the report says %s: %v\n%s", g.Verdict, word, got, printed.String())
			}
		}
		if lost := strings.Contains(printed.String(), "  lost at "); lost != (g.Passed < g.Total) {
			t.Errorf("of %d of %d the report says\n%s", g.Passed, g.Total, printed.String())
		}

		var stdout bytes.Buffer
		if err := printSummary(&process{stdout: &stdout}, true, res, "go.json", code); err != nil {
			t.Fatal(err)
		}
		var summary struct {
			ExitCode int         `json:"exit_code"`
			Passed   int         `json:"passed"`
			Floor    float64     `json:"floor"`
			Gate     result.Gate `json:"gate"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &summary); err != nil {
			t.Fatal(err)
		}
		if summary.ExitCode != code || summary.Passed != g.Passed || summary.Floor != g.Floor {
			t.Errorf("got %+v for exit code %d", summary, code)
		}
		if diff := cmp.Diff(g, summary.Gate); diff != "" {
			t.Error(diff)
		}
	})
	for _, reason := range []result.Reason{result.ReasonFloor, result.ReasonStopped, result.ReasonLost} {
		if seen[reason] == 0 && !testing.Short() { // a fifth of the results may have none
			t.Errorf("no run was judged by %s", reason)
		}
	}
}

// TestVerdictOfAFinishedRun checks an error after the last question: the run is judged in the file,
// and the command fails with the error.
func TestVerdictOfAFinishedRun(t *testing.T) {
	broken := errors.New("remove the journal: read-only file system")
	for _, g := range []result.Gate{{Verdict: result.Pass, Reason: result.ReasonFloor}, {Verdict: result.Fail, Reason: result.ReasonFloor}} {
		if err := verdict(g, broken); !errors.Is(err, broken) || exitCode(t.Context(), err) != exitUsage {
			t.Errorf("%s: got %v", g.Verdict, err)
		}
	}
}

// TestGateTags: a rescoring has the rules of the run about families and leaks, unless it has no
// floor at all.
func TestGateTags(t *testing.T) {
	was := result.Settings{NoLeaks: true, TagFloors: map[string]float64{"update": 0.8}, Families: []string{"update"}}
	for floor, want := range map[string]bool{"0.5": true, noFloor: false} {
		g := gateFlags{floorFlags: floorFlags{Floor: floor}}
		s, err := g.settings(result.Settings{}, &project.KeptFlags{})
		if err != nil {
			t.Fatal(err)
		}
		gateTags(&s, was)
		if s.NoLeaks != want || (len(s.TagFloors) > 0) != want || (len(s.Families) > 0) != want {
			t.Errorf("--floor %s: %+v", floor, s)
		}
	}
}
