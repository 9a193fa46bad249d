package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestJudgeCorrected(t *testing.T) {
	for _, c := range []struct {
		p             float64
		n             int
		judge         JudgeAccuracy
		theta, lo, hi float64
	}{
		{.4, 1000, JudgeAccuracy{.9, 200, .7, 200}, .166667, .056351, .262733},
		{.92, 500, JudgeAccuracy{.98, 100, .37, 100}, .828571, .7271, .9575},
		{.92, 500, JudgeAccuracy{.98, 100, .89, 100}, .931034, .8924, .9845},
		{.9, 50, JudgeAccuracy{.97, 30, .95, 30}, .923913, .7950, 1},
		{.8, 100, JudgeAccuracy{1, 50, 1, 50}, .8, .7144, .8898},
	} {
		got, ok := JudgeCorrected(c.p, c.n, c.judge, .95)
		if !ok || !near(got.Rate, c.theta, 5.1e-7) || !near(got.Lo, c.lo, 5.1e-5) || !near(got.Hi, c.hi, 5.1e-5) {
			t.Errorf("%v of %d by %+v: %+v, %v, want %v (%v, %v)", c.p, c.n, c.judge, got, ok, c.theta, c.lo, c.hi)
		}
	}
}

func TestJudgeCorrectedVectors(t *testing.T) {
	for _, v := range shared[struct {
		P, Q0, Q1, Theta float64
		N, M0, M1        int
		CI               [2]float64
	}](t, "judge_correction_lang_reiczigel") {
		got, ok := JudgeCorrected(v.P, v.N, JudgeAccuracy{v.Q1, v.M1, v.Q0, v.M0}, .95)
		if !ok || !near(got.Rate, v.Theta, 1e-14) || !near(got.Lo, v.CI[0], 1e-14) || !near(got.Hi, v.CI[1], 1e-14) {
			t.Errorf("%+v: %+v, %v", v, got, ok)
		}
	}
}

// TestJudgeCorrectedClamped: a rate that the errors of the judge cannot produce says so.
func TestJudgeCorrectedClamped(t *testing.T) {
	for _, c := range []struct {
		p, q1, q0, rate float64
		clamped         bool
	}{
		{.1, .9, .8, 0, true}, {.2, .9, .8, 0, false}, {.95, .9, .8, 1, true}, {.9, .9, .8, 1, false},
		{1. / 3, 1, 2. / 3, 0, false}, {.5, .9, .8, .3 / .7, false}, {0, 1, 1, 0, false}, {1, 1, 1, 1, false},
	} {
		got, ok := JudgeCorrected(c.p, 50, JudgeAccuracy{c.q1, 100, c.q0, 100}, .95)
		if !ok || !near(got.Rate, c.rate, 1e-12) || got.Clamped != c.clamped {
			t.Errorf("%+v: %+v, %v", c, got, ok)
		}
	}
}

func TestJudgeCorrectedIsUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		p     float64
		n     int
		judge JudgeAccuracy
		conf  float64
	}{
		"as good as chance":        {.5, 100, JudgeAccuracy{.5, 50, .5, 50}, .95},
		"worse than chance":        {.5, 100, JudgeAccuracy{.4, 50, .5, 50}, .95},
		"passes everything":        {1, 100, JudgeAccuracy{1, 50, 0, 50}, .95},
		"as chance, few labels":    {.5, 100, JudgeAccuracy{.25, 1, .75, 1000}, .95},
		"one lucky wrong answer":   {.5, 100, JudgeAccuracy{.2, 1000, .9, 1}, .95},
		"no right answers":         {.5, 100, JudgeAccuracy{1, 0, 1, 50}, .95},
		"no wrong answers":         {.5, 100, JudgeAccuracy{1, 50, 1, 0}, .95},
		"no answers":               {.5, 0, JudgeAccuracy{1, 50, 1, 50}, .95},
		"rate NaN":                 {math.NaN(), 100, JudgeAccuracy{1, 50, 1, 50}, .95},
		"rate above 1":             {1.1, 100, JudgeAccuracy{1, 50, 1, 50}, .95},
		"sensitivity NaN":          {.5, 100, JudgeAccuracy{math.NaN(), 50, 1, 50}, .95},
		"specificity above 1":      {.5, 100, JudgeAccuracy{1, 50, 1.1, 50}, .95},
		"confidence not below 1":   {.5, 100, JudgeAccuracy{1, 50, 1, 50}, 1},
		"confidence as percentage": {.5, 100, JudgeAccuracy{1, 50, 1, 50}, 95},
	} {
		got, ok := JudgeCorrected(c.p, c.n, c.judge, c.conf)
		if ok || !math.IsNaN(got.Rate) || !math.IsNaN(got.Lo) || !math.IsNaN(got.Hi) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestJudgeCorrectedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, .5, .9, 1}))
		count := rapid.OneOf(rapid.IntRange(1, 1000), rapid.IntRange(1, 10))
		p, n := unit.Draw(t, "p"), count.Draw(t, "n")
		judge := JudgeAccuracy{unit.Draw(t, "q1"), count.Draw(t, "m1"), unit.Draw(t, "q0"), count.Draw(t, "m0")}
		got, ok := JudgeCorrected(p, n, judge, .95)
		if judge.Sensitivity+judge.Specificity <= 1 && ok {
			t.Fatalf("%+v corrects", judge)
		}
		unexplained := got.Clamped && math.IsNaN(got.Lo) && math.IsNaN(got.Hi)
		if ok && !unexplained && !(0 <= got.Lo && got.Lo <= got.Rate && got.Rate <= got.Hi && got.Hi <= 1 && got.Lo < got.Hi) {
			t.Fatalf("%+v of %d by %+v: %+v", p, n, judge, got)
		}
		perfect := JudgeAccuracy{1, judge.Right, 1, judge.Wrong}
		if got, ok := JudgeCorrected(p, n, perfect, .95); !ok || !near(got.Rate, p, 1e-12) {
			t.Fatalf("a judge without errors: %+v, %v, want the rate %v", got, ok, p)
		}
	})
}

// TestJudgeCorrectedFewLabels: the labels of one kind may be few.
func TestJudgeCorrectedFewLabels(t *testing.T) {
	for _, c := range []struct {
		p     float64
		n     int
		judge JudgeAccuracy
	}{
		{.9, 500, JudgeAccuracy{1, 1, 1, 100}}, {.9, 500, JudgeAccuracy{1, 2, 1, 30}},
		{1, 10, JudgeAccuracy{1, 1, 1, 100}}, {1, 10, JudgeAccuracy{1, 1 << 40, 1, 1}},
	} {
		got, ok := JudgeCorrected(c.p, c.n, c.judge, .95)
		if !ok || !(got.Lo <= got.Rate && got.Rate <= got.Hi && got.Hi-got.Lo > .1) {
			t.Errorf("%+v: %+v, %v", c, got, ok)
		}
	}
}

// Few labels must not make the interval narrower than the rate is known.
func TestSimulatedCoverageOfJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	const n, rounds = 300, 1000
	random := rand.New(rand.NewPCG(3, 1))
	for _, m := range [][2]int{{1, 100}, {3, 30}, {4, 4}, {FewestLabels, FewestLabels}, {30, 2}, {30, 100}} {
		for _, rate := range []float64{.2, .5, .9} {
			const q1, q0 = .97, .95
			got, limit := shareOf(rounds, .95, func() bool {
				of := func(n int, p float64) float64 { return float64(passedOf(random, n, p)) / float64(n) }
				judge := JudgeAccuracy{of(m[0], q1), m[0], of(m[1], q0), m[1]}
				c, ok := JudgeCorrected(of(n, rate*q1+(1-rate)*(1-q0)), n, judge, .95)
				return !ok || c.Lo <= rate && rate <= c.Hi
			})
			if got < .95-limit {
				t.Errorf("%d right and %d wrong answers, rate %v: coverage %v", m[0], m[1], rate, got)
			}
		}
	}
}
