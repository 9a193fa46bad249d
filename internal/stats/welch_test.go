package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWelch(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		a, b      []float64
		want      MeanDifference
		tolerance float64
	}{
		// t.test(extra ~ group, data = sleep) of R, whose manual has t, df, p and the interval.
		"sleep": {
			[]float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}, []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4},
			MeanDifference{-1.58, .849091, -3.3654832, .2054832, -1.8608, 17.776, .07939}, 5e-4,
		},
		// Means 2 and 5, variances 1 and 1: SE √(2/3), 4 degrees of freedom, for which the t
		// distribution has the closed form F(t) = 1/2 + 3/8·x·(1 - x²/12), x = t/√(1+t²/4).
		"by hand": {
			[]float64{1, 2, 3}, []float64{4, 5, 6},
			MeanDifference{-3, math.Sqrt(2. / 3), -5.266957, -.733043, -3 / math.Sqrt(2./3), 4, .0213116}, 5e-6,
		},
		"one of a side":     {[]float64{1}, []float64{2, 3, 4}, MeanDifference{-2, nan, nan, nan, nan, nan, nan}, 0},
		"no value":          {nil, []float64{2, 3}, MeanDifference{nan, nan, nan, nan, nan, nan, nan}, 0},
		"without variation": {[]float64{1, 1, 1}, []float64{2, 2, 2}, MeanDifference{-1, 0, nan, nan, nan, nan, nan}, 0},
		"NaN":               {[]float64{1, nan, 2}, []float64{2, 3, 4}, MeanDifference{nan, nan, nan, nan, nan, nan, nan}, 0},
		// The variance of one sample alone has the degrees of freedom of that sample: 2.
		"one side without variation": {
			[]float64{1, 1, 1}, []float64{1, 2, 3},
			MeanDifference{-1, math.Sqrt(1. / 3), -3.484138, 1.484138, -math.Sqrt(3), 2, .2254033}, 5e-6,
		},
	} {
		got := Welch(c.a, c.b, .95)
		for _, f := range []struct {
			what      string
			got, want float64
		}{
			{"difference", got.Difference, c.want.Difference}, {"SE", got.SE, c.want.SE}, {"lo", got.Lo, c.want.Lo}, {"hi", got.Hi, c.want.Hi},
			{"t", got.T, c.want.T}, {"df", got.DF, c.want.DF}, {"p", got.P, c.want.P},
		} {
			expect(t, name+": "+f.what, f.got, f.want, c.tolerance)
		}
	}
}

// Exchanging the samples changes the signs only, the order of a sample does not matter, and the
// interval excludes 0 exactly if p is below 1 - conf.
func TestWelchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := rapid.SliceOfN(rapid.Float64Range(-5, 5), 2, 12)
		a, b := sample.Draw(t, "a"), sample.Draw(t, "b")
		got, other := Welch(a, b, .95), Welch(b, a, .95)
		turned := Welch(rapid.Permutation(a).Draw(t, "turned"), b, .95)
		for _, o := range []MeanDifference{{-other.Difference, other.SE, -other.Hi, -other.Lo, -other.T, other.DF, other.P}, turned} {
			expect(t, "difference", got.Difference, o.Difference, 1e-9)
			expect(t, "p", got.P, o.P, 1e-6)
		}
		if excluded := got.Lo > 0 || got.Hi < 0; excluded != (got.P < .05) && !near(got.P, .05, 1e-6) {
			t.Fatalf("interval and p contradict each other: %+v", got)
		}
		if least := float64(min(len(a), len(b)) - 1); got.DF < least-1e-9 || got.DF > float64(len(a)+len(b)-2)+1e-9 {
			t.Fatalf("%v degrees of freedom", got.DF)
		}
	})
}
