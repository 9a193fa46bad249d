package result_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/result"
	"evalctl/internal/stats"
	"evalctl/scorer"
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

func TestGateVerdicts(t *testing.T) {
	stopped := func(why result.Stop, planned int, r result.Result) result.Result {
		r.Stopped, r.Planned = why, planned
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
			"46 of 50 questions passed, the floor 0.9 needs 45; not proven at this size: a true rate of 0.85 passes 22% of the time; 49/50 would prove it"},
		{"exactly at the floor", finished(45, 5, 0, 0, 0), 0.9, "0", "pass floor", 45, "45 of 50 questions passed, the floor 0.9 needs 45; not proven"},
		{"one below the floor", finished(44, 6, 0, 0, 0), 0.9, "0", "fail floor", 45, "44 of 50 questions passed, the floor 0.9 needs 45"},
		{"a floor that no share equals", finished(9, 2, 0, 0, 0), 0.8181, "0", "pass floor", 9, ""},
		{"a product that rounds up", finished(7, 93, 0, 0, 0), 0.07, "0", "pass floor", 7, ""},
		{"proven", finished(500, 0, 0, 0, 0), 0.9, "0", "pass floor", 450,
			"500 of 500 questions passed, the floor 0.9 needs 450; proven: even the one-sided 95% lower bound reaches it"},
		{"too few to prove", finished(10, 0, 0, 0, 0), 0.9, "0", "pass floor", 9,
			"10 of 10 questions passed, the floor 0.9 needs 9; not proven at this size: a true rate of 0.85 passes 54% of the time; no result on so few questions would prove it"},
		{"a floor of 0", finished(0, 3, 0, 0, 0), 0, "0", "pass floor", 0, "0 of 3 questions passed, the floor 0 needs 0; proven"},
		{"a floor of 1, reached", finished(3, 0, 0, 0, 0), 1, "0", "pass floor", 3,
			"3 of 3 questions passed, the floor 1 needs 3; not proven: no number of questions can prove that none would fail"},
		{"a floor of 1, missed", finished(2, 1, 0, 0, 0), 1, "0", "fail floor", 3, "2 of 3 questions passed, the floor 1 needs 3"},
		{"one question", finished(0, 1, 0, 0, 0), 0.9, "0", "fail floor", 1, "0 of 1 question passed, the floor 0.9 needs 1"},
		{"as many lost as allowed", finished(8, 0, 1, 1, 0), 0.8, "20%", "pass floor", 8, ""},
		{"as many lost as allowed, by number", finished(8, 0, 1, 1, 0), 0.8, "2", "pass floor", 8, ""},
		{"one more lost than allowed", finished(8, 0, 1, 1, 0), 0.8, "1", "invalid lost", 8,
			"no score for 2 of 10 questions (1 error, 1 unscored), --max-unscored 1 allows 1"},
		{"a share is rounded down", finished(17, 0, 2, 0, 0), 0.8, "10%", "invalid lost", 16,
			"no score for 2 of 19 questions (2 errors, 0 unscored), --max-unscored 10% allows 1"},
		{"lost wins over the floor", finished(0, 8, 2, 0, 0), 0.9, "0", "invalid lost", 9, ""},
		{"no answer at all", finished(0, 0, 3, 0, 0), 0, "100%", "invalid no_answers", 0, "the daemon answered none of 3 questions; the result file says why for each"},
		{"one answer", finished(0, 1, 2, 0, 0), 0, "100%", "pass floor", 0, ""},
		{"unscored answers are answers", finished(0, 0, 0, 3, 0), 0, "100%", "pass floor", 0, ""},
		{"all without gold", finished(0, 0, 0, 0, 4), 0, "100%", "invalid no_questions", 0, "none of 4 questions has expected_paths, so that none counts"},
		{"questions without gold do not count", finished(1, 0, 0, 0, 4), 1, "0", "pass floor", 1, ""},
		{"stopped at once", stopped(result.StopInterrupted, 5, finished(0, 0, 0, 0, 0)), 0, "100%", "inconclusive stopped", 0,
			"stopped after 0 of 5 questions, this is not a score"},
		{"stopped above the floor", stopped(result.StopBudget, 5, finished(3, 0, 0, 1, 0)), 0.5, "100%", "inconclusive stopped", 2,
			"stopped after 4 of 5 questions, this is not a score"},
		{"stopped with errors only", stopped(result.StopDaemon, 1000, finished(0, 0, 4, 0, 1)), 0.5, "0", "inconclusive stopped", 2,
			"stopped after 5 of 1000 questions, this is not a score"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := result.NewGate(c.res, result.Policy{Floor: c.floor, MaxUnscored: allowance(t, c.max)}, result.Loss{})
			if got := string(g.Verdict) + " " + string(g.Reason); got != c.want || g.Required != c.required {
				t.Errorf("got %s, required %d; want %s, %d", got, g.Required, c.want, c.required)
			}
			if !strings.HasPrefix(g.Sentence, c.sentence) || g.Sentence == "" {
				t.Errorf("got  %s\nwant %s", g.Sentence, c.sentence)
			}
			n := c.res.Counts
			if g.Passed != n.Passed || g.Total != n.Total || g.Allowance.Max.String() != c.max || g.Allowance.Lost != n.Errors+n.Unscored || g.Stopped != c.res.Stopped {
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
	} {
		p := result.NewGate(finished(c.passed, c.failed, 0, 0, 0), result.Policy{Floor: c.floor}, result.Loss{}).Proof
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
		max, err := result.ParseAllowance(rapid.SampledFrom([]string{"0", "3", "500", "0%", "12.5%", "100%"}).Draw(t, "max"))
		if err != nil {
			t.Fatal(err)
		}
		policy := result.Policy{Floor: float64(milli) / 1000, MaxUnscored: max}
		if rapid.Bool().Draw(t, "stop") {
			res.Stopped = result.StopFailed
			res.Planned += percent + 1
		}
		g := result.NewGate(res, policy, result.Loss{})
		n := res.Counts
		reached := 1000*n.Passed >= milli*n.Total
		switch g.Verdict {
		case result.Pass, result.Fail:
			if reached != (g.Verdict == result.Pass) || g.Passed >= g.Required != reached || n.Errors == n.Total || n.Errors+n.Unscored > max.Of(n.Total) || res.Stopped != "" {
				t.Errorf("%s for %+v by %+v", g.Verdict, n, policy)
			}
			p := g.Proof
			if p.Proven != (p.Lower >= policy.Floor) || p.Proven && g.Verdict != result.Pass {
				t.Errorf("proof %+v of %s", p, g.Verdict)
			}
			if p.Needed != nil && (*p.Needed > n.Total || stats.WilsonLower(*p.Needed, n.Total, 0.95) < policy.Floor ||
				*p.Needed > 0 && stats.WilsonLower(*p.Needed-1, n.Total, 0.95) >= policy.Floor) {
				t.Errorf("%d of %d do not just prove %v", *p.Needed, n.Total, policy.Floor)
			}
			if p.Needed == nil && stats.WilsonLower(n.Total, n.Total, 0.95) >= policy.Floor {
				t.Errorf("all of %d prove %v", n.Total, policy.Floor)
			}
		case result.Inconclusive:
			if res.Stopped == "" || g.Stopped != res.Stopped || g.Proof != nil {
				t.Errorf("got %+v", g)
			}
		case result.Invalid:
			if res.Stopped != "" || n.Errors < n.Total && n.Errors+n.Unscored <= max.Of(n.Total) || g.Proof != nil {
				t.Errorf("got %+v of %+v", g, n)
			}
		default:
			t.Errorf("got %+v", g)
		}
		if n.Scored > n.Passed {
			better := res
			better.Counts.Passed++
			order := map[result.Verdict]int{result.Fail: 1, result.Pass: 2}
			if after := result.NewGate(better, policy, result.Loss{}); order[after.Verdict] < order[g.Verdict] {
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

// failedWith returns a record that did not pass, with gold at these ranks.
func failedWith(outcome result.Outcome, ranks ...int) result.Record {
	r := result.Record{Outcome: outcome}
	var gold scorer.Ranking
	for i, rank := range ranks {
		path := string(rune('a'+i)) + ".md"
		r.ExpectedPaths = append(r.ExpectedPaths, path)
		gold = append(gold, scorer.Gold{Path: path, Gain: 1, Rank: rank})
	}
	if outcome != result.Errored && len(ranks) > 0 {
		r.Retrieval = &result.QuestionRetrieval{Gold: gold}
	}
	return r
}

func TestLostAt(t *testing.T) {
	passed := failedWith(result.Scored, 0)
	passed.Passed = true
	for _, c := range []struct {
		name string
		r    result.Record
		ask  result.Stage
		find result.Stage // in a scenario without a reader
	}{
		{"passed", passed, "", ""},
		{"left out", failedWith(result.NoGold), "", ""},
		{"an error", failedWith(result.Errored, 0), result.StageError, result.StageError},
		{"no verdict", failedWith(result.Unscored, 1), result.StageUnscored, result.StageUnscored},
		{"no gold", failedWith(result.Scored), result.StageUnknown, result.StageUnknown},
		{"not retrieved", failedWith(result.Scored, 0), result.StageRetrieval, result.StageRetrieval},
		{"retrieved at the last rank", failedWith(result.Scored, 5), result.StageReader, result.StageUnknown},
		{"retrieved too deep", failedWith(result.Scored, 6), result.StageRetrieval, result.StageRetrieval},
		{"retrieved in part", failedWith(result.Scored, 1, 0, 2), result.StageRetrieval, result.StageRetrieval},
		{"all retrieved", failedWith(result.Scored, 3, 1, 2), result.StageReader, result.StageUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			for scenario, want := range map[result.Scenario]result.Stage{result.AskBasic: c.ask, result.AskAugmented: c.ask, result.SearchOnly: c.find} {
				if got := c.r.LostAt(scenario, 5); got != want {
					t.Errorf("%s: got %q, want %q", scenario, got, want)
				}
				a := result.NewAggregate(5)
				a.Add(c.r)
				res := result.Result{Identity: result.Identity{Scenario: scenario}}
				res.SetAggregate(a)
				wantLoss := map[result.Stage]result.Loss{
					result.StageRetrieval: {Retrieval: 1}, result.StageReader: {Reader: 1}, result.StageError: {Errors: 1},
					result.StageUnscored: {Unscored: 1}, result.StageUnknown: {Unknown: 1},
				}[want]
				if res.Gate.Loss != wantLoss {
					t.Errorf("%s: the gate counts %+v, want %+v", scenario, res.Gate.Loss, wantLoss)
				}
			}
		})
	}
	if got := (result.Loss{Retrieval: 3, Errors: 1}).String(); got != "retrieval 3  errors 1" {
		t.Errorf("got %q", got)
	}
}

func TestAllowance(t *testing.T) {
	for _, c := range []struct {
		text  string
		total int
		want  int
	}{
		{"0", 50, 0}, {"3", 50, 3}, {"3", 2, 3}, {"0%", 50, 0}, {"10%", 50, 5}, {"10%", 49, 4}, {"10%", 0, 0},
		{"100%", 7, 7}, {"12.5%", 8, 1}, {"12.5%", 7, 0}, {"7%", 100, 7}, {"29%", 100, 29}, {"18.4%", 375, 69},
	} {
		a := allowance(t, c.text)
		if got := a.Of(c.total); got != c.want || a.String() != c.text {
			t.Errorf("%s of %d: got %d, %s", c.text, c.total, got, a)
		}
	}
	for _, text := range []string{"", "many", "-1", "1.5", "101%", "-1%", "NaN%", "%", "10 %", " 3", "1e3"} {
		if a, err := result.ParseAllowance(text); err == nil {
			t.Errorf("%q was parsed as %v", text, a)
		}
	}
	var s result.Settings
	if s.MaxUnscored.String() != "0" || s.MaxUnscored.Of(10) != 0 {
		t.Errorf("the zero value is %s", s.MaxUnscored)
	}
	if err := json.Unmarshal([]byte(`{"max_unscored":"12%"}`), &s); err != nil || s.MaxUnscored.Of(100) != 12 {
		t.Errorf("got %v, %v", s.MaxUnscored, err)
	}
	if data, err := json.Marshal(s); err != nil || !strings.Contains(string(data), `"max_unscored":"12%"`) {
		t.Errorf("got %s, %v", data, err)
	}
	if err := json.Unmarshal([]byte(`{"max_unscored":"few"}`), &s); err == nil {
		t.Error("few is an allowance")
	}
	if s.MaxUnscored.Equal(allowance(t, "12")) || !s.MaxUnscored.Equal(allowance(t, "12%")) {
		t.Error("allowances are compared wrongly")
	}
}
