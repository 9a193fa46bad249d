package judging

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/resulttest"
)

// saved returns a result after a change of it, as a check reads it, and what it says itself.
func saved(t *testing.T, outcomes string, change func(*resulttest.File)) (of, says *result.Result) {
	t.Helper()
	f := resulttest.New("x", time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), outcomes)
	change(f)
	f.Fill()
	of, err := openResult(f.Save(t, t.TempDir(), "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	return of, &f.Result
}

// conversations puts each n questions in a conversation.
func conversations(n int) func(*resulttest.File) {
	return func(f *resulttest.File) {
		f.Settings.ClusterTag = "conversation"
		for i := range f.Questions {
			f.Questions[i].Tags = []string{fmt.Sprintf("conversation:%d", i/n)}
		}
	}
}

// repeats makes each k questions the repeats of one.
func repeats(k int) func(*resulttest.File) {
	return func(f *resulttest.File) {
		f.Identity.Dataset.Repeats = k
		for i := range f.Questions {
			f.Questions[i].ID, f.Questions[i].Repeat = fmt.Sprintf("q-%02d", i/k), i%k+1
		}
	}
}

func alone(*resulttest.File) {}

// TestCorrectClusters: the pass rate of questions in clusters has the interval of the result itself,
// and its correction is as uncertain.
func TestCorrectClusters(t *testing.T) {
	a := Accuracy{RightPassed: 190, RightFailed: 10, WrongPassed: 10, WrongFailed: 190}
	a.rate()
	width := func(r *Rate) float64 { return r.Interval.High - r.Interval.Low }
	groups := strings.Repeat("++++++++", 6) + strings.Repeat("--------", 4)
	for name, correct := range map[string]func(*result.Result) Correction{"labels": a.Correct, "wrong answers": func(of *result.Result) Correction { return a.least(of, nil) }} {
		of, says := saved(t, groups, conversations(8))
		independent, _ := saved(t, groups, alone)
		c, plain := correct(of), correct(independent)
		if c.Raw.Interval != *says.Believed() {
			t.Errorf("%s: pass rate %s, and the result says %+v", name, &c.Raw, says.Believed())
		}
		if c.Corrected.Rate != plain.Corrected.Rate || width(c.Corrected) < 2*width(plain.Corrected) {
			t.Errorf("%s: corrected %s, of independent questions %s", name, c.Corrected, plain.Corrected)
		}
		once, _ := saved(t, groups, alone)
		again, says := saved(t, strings.ReplaceAll(strings.ReplaceAll(groups, "+", "+++"), "-", "---"), repeats(3))
		c, plain = correct(again), correct(once)
		if c.Raw.Interval != *says.Believed() || math.Abs(width(c.Corrected)-width(plain.Corrected)) > .01 {
			t.Errorf("%s: with repeats %s, corrected %s; asked once %s", name, &c.Raw, c.Corrected, plain.Corrected)
		}
	}
}

// TestCorrectUncertainClusters: where clusters show nothing, nothing is corrected; where all pass,
// each counts as one answer. Errors are in no cluster of the judged answers.
func TestCorrectUncertainClusters(t *testing.T) {
	a := Accuracy{RightPassed: 190, RightFailed: 10, WrongPassed: 10, WrongFailed: 190}
	a.rate()
	for outcomes, want := range map[string]string{
		"+-+-+-+-":     "0.500 (no interval)",
		"++++++++":     "1.000 [0.342 1.000] (95% Wilson over clusters)",
		"+++e++++ee++": "1.000 [0.439 1.000] (95% Wilson over clusters)",
	} {
		of, _ := saved(t, outcomes, conversations(4))
		c := a.Correct(of)
		if got := c.Raw.String(); got != want || (c.Corrected == nil) != (of.Clustered.Interval == nil) {
			t.Errorf("%s: got %s, want %s; %+v", outcomes, got, want, c)
		}
	}
}
