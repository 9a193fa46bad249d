package aggregate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

func allowance(tb testing.TB, text string) result.Allowance {
	tb.Helper()
	a, err := result.ParseAllowance(text)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// finished returns a result with these counts that did not stop early.
func finished(passed, failed, errors, unscored, noGold int) result.Result {
	n := passed + failed + errors + unscored
	return result.Result{
		Planned: n + noGold,
		Counts:  result.Counts{Total: n, Passed: passed, Scored: passed + failed, Errors: errors, Unscored: unscored, NoGold: noGold},
	}
}

// judge returns the verdict on a run with the counts of res.
func judge(res result.Result, floor float64, max result.Allowance) result.Gate {
	sum := aggregate.New(5)
	add := func(n int, r result.Record) {
		for range n {
			sum.Add(r)
		}
	}
	n := res.Counts
	add(n.Passed, result.Record{Outcome: result.Scored, Score: new(1.0), Passed: true})
	add(n.Scored-n.Passed, result.Record{Outcome: result.Scored, Score: new(0.0)})
	add(n.Errors, result.Record{Outcome: result.Errored})
	add(n.Unscored, result.Record{Outcome: result.Unscored})
	add(n.NoGold, result.Record{Outcome: result.NoGold})
	res.Settings = result.Settings{Floor: floor, MaxErrors: max, MaxUnscored: max}
	sum.Fill(&res)
	sum.Judge(&res)
	if res.Counts != n {
		panic(fmt.Sprintf("the counts are %+v, want %+v", res.Counts, n))
	}
	return *res.Gate
}

func TestGateVerdicts(t *testing.T) {
	stopped := func(why result.Stop, planned int, r result.Result) result.Result {
		r.Stopped, r.Planned = why, planned
		return r
	}
	unread := func(r result.Result, n int) result.Result {
		r.Replay = &result.Replay{
			Actor: result.Actor{Model: "gpt-5-mini"}, Losses: map[result.Cause]int{result.CauseReaderError: n},
		}
		return r
	}
	misjudged := func(r result.Result) result.Result {
		r.Replay = &result.Replay{Controls: &result.Controls{Right: 10, Wrong: 10, Failed: make([]result.FailedControl, 2)}}
		return r
	}
	for _, c := range []struct {
		name     string
		res      result.Result
		floor    float64
		max      string
		want     string // verdict and reason
		required int
		sentence string
	}{
		{"above the floor", finished(46, 4, 0, 0, 0), 0.9, "0", "pass floor", 45,
			"46/50 passes the floor 0.9 (needs 45), not proven at this size: a true rate of 0.85 passes 22% of the time; 49/50 would prove it"},
		{"exactly at the floor", finished(45, 5, 0, 0, 0), 0.9, "0", "pass floor", 45, "45/50 passes the floor 0.9 (needs 45), not proven"},
		{"one below the floor", finished(44, 6, 0, 0, 0), 0.9, "0", "fail floor", 45, "44/50 misses the floor 0.9 (needs 45), not proven: the one-sided 95% upper bound, 0.946, still reaches it; about 1521 questions would settle it, if this is the true rate"},
		{"a floor that no share equals", finished(9, 2, 0, 0, 0), 0.8181, "0", "pass floor", 9, ""},
		{"a product that rounds up", finished(7, 93, 0, 0, 0), 0.07, "0", "pass floor", 7, ""},
		{"proven", finished(500, 0, 0, 0, 0), 0.9, "0", "pass floor", 450,
			"500/500 passes the floor 0.9 (needs 450), proven: even the one-sided 95% lower bound reaches it"},
		{"too few to prove", finished(10, 0, 0, 0, 0), 0.9, "0", "pass floor", 9,
			"10/10 passes the floor 0.9 (needs 9), not proven at this size: a true rate of 0.85 passes 54% of the time; no result on so few questions would prove it"},
		{"a floor of 0", finished(0, 3, 0, 0, 0), 0, "0", "pass floor", 0, "0/3 passes the floor 0 (needs 0), proven"},
		{"a floor of 1, reached", finished(3, 0, 0, 0, 0), 1, "0", "pass floor", 3,
			"3/3 passes the floor 1 (needs 3), not proven: no number of questions can prove that none would fail"},
		{"a floor of 1, missed", finished(2, 1, 0, 0, 0), 1, "0", "fail floor", 3, "2/3 misses the floor 1 (needs 3), proven: even the one-sided 95% upper bound, 0.983, is below it"},
		{"one question", finished(0, 1, 0, 0, 0), 0.9, "0", "fail floor", 1, "0/1 misses the floor 0.9 (needs 1), not proven: the one-sided 95% upper bound, 0.950, still reaches it; about 2 questions would settle it"},
		{"as many lost as allowed", finished(8, 0, 2, 0, 0), 0.8, "20%", "pass floor", 8, ""},
		{"as many lost as allowed, by number", finished(8, 0, 2, 0, 0), 0.8, "2", "pass floor", 8, ""},
		{"one more lost than allowed", finished(8, 0, 2, 1, 0), 0.8, "1", "invalid lost", 9,
			"2 errors in 11 questions, --max-errors 1 allows 1"},
		{"one more unscored than allowed", finished(8, 0, 1, 2, 0), 0.8, "1", "invalid lost", 9,
			"no verdict of the scorer on 2 of 11 questions, --max-unscored 1 allows 1"},
		{"too many of both", finished(8, 0, 2, 2, 0), 0.8, "1", "invalid lost", 10,
			"2 errors in 12 questions, --max-errors 1 allows 1; no verdict of the scorer on 2 of 12 questions, --max-unscored 1 allows 1"},
		{"a share is rounded down", finished(17, 0, 2, 0, 0), 0.8, "10%", "invalid lost", 16,
			"2 errors in 19 questions, --max-errors 10% allows 1"},
		{"lost wins over the floor", finished(0, 8, 2, 0, 0), 0.9, "0", "invalid lost", 9, ""},
		{"no answer at all", finished(0, 0, 3, 0, 0), 0, "100%", "invalid no_answers", 0, "the daemon answered none of 3 questions; the result file says why for each"},
		{"a reader that failed on all", unread(finished(0, 0, 3, 0, 0), 3), 0, "100%", "invalid lost", 0,
			`the model that answers, "gpt-5-mini", failed on 3 of 3 questions; the result file says why for each`},
		{"a reader and a daemon that failed", unread(finished(0, 0, 3, 0, 0), 1), 0, "0", "invalid lost", 0,
			`the model that answers, "gpt-5-mini", failed on 1 of 3 questions, and no other has an answer; the result file says why for each`},
		{"a reader that failed on some", unread(finished(7, 0, 3, 0, 0), 2), 0, "10%", "invalid lost", 0,
			`3 errors in 10 questions, --max-errors 10% allows 1; the model that answers, "gpt-5-mini", failed on 2 of them`},
		{"one answer", finished(0, 1, 2, 0, 0), 0, "100%", "pass floor", 0, ""},
		{"unscored answers are answers", finished(0, 0, 0, 3, 0), 0, "100%", "pass floor", 0, ""},
		{"all without gold", finished(0, 0, 0, 0, 4), 0, "100%", "invalid no_questions", 0, "none of 4 questions has gold, so that none counts"},
		{"questions without gold do not count", finished(1, 0, 0, 0, 4), 1, "0", "pass floor", 1, ""},
		{"stopped at once", stopped(result.StopInterrupted, 5, finished(0, 0, 0, 0, 0)), 0, "100%", "inconclusive stopped", 0,
			"stopped after 0 of 5 questions, this is not a score"},
		{"stopped above the floor", stopped(result.StopBudget, 5, finished(3, 0, 0, 1, 0)), 0.5, "100%", "inconclusive stopped", 2,
			"stopped after 4 of 5 questions, this is not a score"},
		{"stopped with errors only", stopped(result.StopDaemon, 1000, finished(0, 0, 4, 0, 1)), 0.5, "0", "inconclusive stopped", 2,
			"stopped after 5 of 1000 questions, this is not a score"},
		{"controls misjudged before the first question", misjudged(stopped(result.StopControls, 5, finished(0, 0, 0, 0, 0))), 0.5, "0", "invalid controls", 0,
			"the scorer misjudged 2 of 20 control items, so its verdicts are not to be trusted"},
		{"controls misjudged, and interrupted", misjudged(stopped(result.StopInterrupted, 5, finished(3, 0, 0, 0, 0))), 0.5, "0", "invalid controls", 2, ""},
		{"controls misjudged, and no answer", misjudged(finished(0, 0, 3, 0, 0)), 0.5, "0", "invalid controls", 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := judge(c.res, c.floor, allowance(t, c.max))
			if got := string(g.Verdict) + " " + string(g.Reason); got != c.want || g.Required != c.required {
				t.Errorf("got %s, required %d; want %s, %d", got, g.Required, c.want, c.required)
			}
			if !strings.HasPrefix(g.Sentence, c.sentence) || g.Sentence == "" {
				t.Errorf("got  %s\nwant %s", g.Sentence, c.sentence)
			}
			n := c.res.Counts
			if g.Passed != n.Passed || g.Total != n.Total || g.MaxErrors.Max.String() != c.max || g.MaxErrors.Count != n.Errors || g.MaxUnscored.Count != n.Unscored || g.Stopped != "" != (g.Reason == result.ReasonStopped) {
				t.Errorf("got %+v", g)
			}
		})
	}
}

func TestProof(t *testing.T) {
	for _, c := range []struct {
		passed, failed int
		floor          float64
		proven         bool
		worse, passes  float64
		needed         int // -1 for none
	}{
		{46, 4, 0.9, false, 0.85, .2194, 49},
		{49, 1, 0.9, true, 0.85, .2194, 49},
		{48, 2, 0.9, false, 0.85, .2194, 49},
		{10, 0, 0.9, false, 0.85, .5443, -1},
		{44, 6, 0.9, false, 0.85, .2194, 49},
		{0, 3, 0, true, 0, 1, 0},
		{3, 0, 1, false, 0.95, .857375, -1},
		{1, 0, 0.03, true, 0, 0, 1},
		{3, 0, 0.5, false, 0.45, .425250, -1}, // a true rate of 0.5 passes all of 3 in 12.5% of runs
		{5, 0, 0.5, true, 0.45, .406873, 5},
	} {
		p := judge(finished(c.passed, c.failed, 0, 0, 0), c.floor, result.Allowance{}).Proof
		needed := -1
		if p.Needed != nil {
			needed = *p.Needed
		}
		if p.Proven != c.proven || p.WorseRate != c.worse || math.Abs(p.WorsePasses-c.passes) > 5.1e-5 || needed != c.needed {
			t.Errorf("%d of %d, floor %v: got %+v, needed %d", c.passed, c.passed+c.failed, c.floor, p, needed)
		}
	}
}

// TestGateProperties checks every kind of run: one more pass never makes a verdict worse, the floor
// is decided as by exact arithmetic, and a verdict says no more than its figures.
func TestGateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.IntRange(0, 40)
		res := finished(small.Draw(t, "passed"), small.Draw(t, "failed"), small.Draw(t, "errors"), small.Draw(t, "unscored"), small.Draw(t, "no gold"))
		milli := rapid.IntRange(0, 1000).Draw(t, "milli")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		most, err := result.ParseAllowance(rapid.SampledFrom([]string{"0", "3", "500", "0%", "12.5%", "100%"}).Draw(t, "max"))
		if err != nil {
			t.Fatal(err)
		}
		floor := float64(milli) / 1000
		if rapid.Bool().Draw(t, "stop") {
			res.Stopped = result.StopFailed
			res.Planned += percent + 1
		}
		g := judge(res, floor, most)
		n := res.Counts
		reached := 1000*n.Passed >= milli*n.Total
		switch g.Verdict {
		case result.Pass, result.Fail:
			if reached != (g.Verdict == result.Pass) || g.Passed >= g.Required != reached || n.Errors == n.Total || max(n.Errors, n.Unscored) > most.Of(n.Total) || res.Stopped != "" {
				t.Errorf("%s for %+v, floor %v, at most %v unscored", g.Verdict, n, floor, most)
			}
			p := g.Proof
			if p.Proven != (p.Lower >= floor) || p.Proven && g.Verdict != result.Pass {
				t.Errorf("proof %+v of %s", p, g.Verdict)
			}
			if p.Needed != nil && (*p.Needed > n.Total || stats.ExactLower(*p.Needed, n.Total, 0.95) < floor ||
				*p.Needed > 0 && stats.ExactLower(*p.Needed-1, n.Total, 0.95) >= floor) {
				t.Errorf("%d of %d do not just prove %v", *p.Needed, n.Total, floor)
			}
			if p.Needed == nil && stats.ExactLower(n.Total, n.Total, 0.95) >= floor {
				t.Errorf("all of %d prove %v", n.Total, floor)
			}
		case result.Inconclusive:
			if res.Stopped == "" || g.Stopped != res.Stopped || g.Proof != nil {
				t.Errorf("got %+v", g)
			}
		case result.Invalid:
			if res.Stopped != "" || n.Errors < n.Total && max(n.Errors, n.Unscored) <= most.Of(n.Total) || g.Proof != nil {
				t.Errorf("got %+v of %+v", g, n)
			}
		default:
			t.Errorf("got %+v", g)
		}
		if n.Scored > n.Passed {
			better := res
			better.Counts.Passed++
			order := map[result.Verdict]int{result.Fail: 1, result.Pass: 2}
			if after := judge(better, floor, most); order[after.Verdict] < order[g.Verdict] {
				t.Errorf("one more pass made %s of %s", after.Verdict, g.Verdict)
			}
		}
		data, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		var back result.Gate
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(g, back); diff != "" {
			t.Error(diff)
		}
		if strings.ContainsAny(g.Sentence, "\n\x1b") || strings.HasSuffix(g.Sentence, ".") {
			t.Errorf("got %q", g.Sentence)
		}
	})
}

// TestGateLoss checks that the gate counts the questions as LostAt attributes them.
func TestGateLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scenario := rapid.SampledFrom([]result.Scenario{
			result.AskBasic, result.AskAugmented, result.SearchOnly,
		}).Draw(t, "scenario")
		topK := rapid.IntRange(1, 5).Draw(t, "top-k")
		sum := aggregate.New(topK)
		lost := map[result.Stage]int{}
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			r := anyRecord(t)
			sum.Add(r)
			lost[r.LostAt(scenario, topK)]++
		}
		res := result.Result{Identity: result.Identity{Scenario: scenario}}
		sum.Fill(&res)
		sum.Judge(&res)
		want := result.Loss{
			Retrieval: lost[result.StageRetrieval], Reader: lost[result.StageReader],
			Errors: lost[result.StageError], Unscored: lost[result.StageUnscored],
			Unknown: lost[result.StageUnknown],
		}
		if res.Gate.Loss != want {
			t.Errorf("%s: the gate counts %+v, want %+v", scenario, res.Gate.Loss, want)
		}
	})
}
