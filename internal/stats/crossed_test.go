package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestCrossed has three runs of four units, computed by hand: units have the means 1, 1/3, 2/3 and 0,
// runs the effects 0, 1/4 and -1/4.
func TestCrossed(t *testing.T) {
	runs := [][]float64{{1, 0, 1, 0}, {1, 1, 1, 0}, {1, 0, 0, 0}}
	c := Crossed(runs, nil)
	units := (.25 + 1./36 + 1./36 + .25) / 3 / 4 // the variance of the four means, by 4
	between := (1./16 + 1./16) / 6
	rest := 0.0 // of each run: what is left without its effect, as squares of deviations from the means
	for k, effect := range []float64{0, .25, -.25} {
		for i, mean := range []float64{1, 1. / 3, 2. / 3, 0} {
			d := runs[k][i] - mean - effect
			rest += d * d
		}
	}
	rest = rest / 16 * 4 / 3 / 6
	want := math.Sqrt(units + max(0, between-rest))
	if math.Abs(c.Mean-.5) > 1e-12 || math.Abs(c.SE-want) > 1e-12 || c.Clusters != 4 {
		t.Errorf("%+v, want SE %v", c, want)
	}
	variance := want * want
	if df := variance * variance / (units*units/3 + between*between/2); math.Abs(c.DF-df) > 1e-9 {
		t.Errorf("%v degrees of freedom, want %v", c.DF, df)
	}
}

// TestCrossedProperties: runs that are copies say what one does; what all runs have more moves the
// mean alone; sides that are exchanged have the opposite difference; and the interval contains what
// its test does not reject.
func TestCrossedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "units")
		values := func(k int) [][]float64 {
			runs := make([][]float64, k)
			for i := range runs {
				runs[i] = rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "run")
			}
			return runs
		}
		cluster := rapid.SliceOfN(rapid.IntRange(0, 3), n, n).Draw(t, "cluster")
		x, y := values(rapid.IntRange(1, 4).Draw(t, "runs")), values(rapid.IntRange(1, 4).Draw(t, "other runs"))
		near := func(what string, a, b float64) {
			if math.Abs(a-b) > 1e-9*(1+math.Abs(b)) && !(math.IsNaN(a) && math.IsNaN(b)) {
				t.Fatalf("%s: %v and %v", what, a, b)
			}
		}
		one := Clustered(x[0], cluster, .95)
		copies := Crossed([][]float64{x[0], x[0], x[0]}, cluster)
		near("SE of copies", copies.SE, one.SE)
		near("SE of one run", Crossed(x[:1], cluster).SE, one.SE)
		d, back := CrossedDifference(x, y, cluster), CrossedDifference(y, x, cluster)
		near("mean", d.Mean, -back.Mean)
		near("SE", d.SE, back.SE)
		near("degrees of freedom", d.DF, back.DF)
		lo, hi := d.Interval(.9)
		if !(d.SE > 1e-9) {
			return
		}
		near("p at the lower end", d.P(lo), .1)
		near("p at the upper end", d.P(hi), .1)
		if d.P(d.Mean) != 1 || d.P(lo-.01) > .1 {
			t.Fatalf("p %v at the mean, %v outside", d.P(d.Mean), d.P(lo-.01))
		}
	})
}

// TestCrossedMissing leaves out values that a run does not have.
func TestCrossedMissing(t *testing.T) {
	nan := math.NaN()
	c := Crossed([][]float64{{1, 0, nan, 1}, {1, nan, 0, 0}}, nil)
	if math.Abs(c.Mean-(1+0+0+.5)/4) > 1e-12 || !(c.SE > 0) {
		t.Errorf("%+v", c)
	}
	if one := CrossedDifference([][]float64{{1, 0}}, [][]float64{{0, 0}, {1, 0}}, []int{0, 0}); !math.IsNaN(one.SE) {
		t.Errorf("one cluster: %+v", one)
	}
}

// TestSimulatedCrossed has runs that differ by two points of their own, of which each is a value: the
// crossed interval covers no difference about as often as it says, where one that knows the questions
// alone covers far less.
func TestSimulatedCrossed(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	random := rand.New(rand.NewPCG(3, 1))
	const rounds, questions, k = 400, 300, 3
	side := func(p []float64) [][]float64 {
		runs := make([][]float64, k)
		for i := range runs {
			shift := .04 * random.NormFloat64()
			for _, q := range p {
				v := 0.0
				if random.Float64() < q+shift {
					v = 1
				}
				runs[i] = append(runs[i], v)
			}
		}
		return runs
	}
	covers := func(lo, hi float64) bool { return lo <= 0 && 0 <= hi }
	crossed, plain := 0, 0
	for range rounds {
		p := make([]float64, questions)
		for i := range p {
			p[i] = .5 + .5*random.Float64()
		}
		x, y := side(p), side(p)
		if covers(CrossedDifference(x, y, nil).Interval(.95)) {
			crossed++
		}
		d := make([]float64, questions)
		for i := range d {
			for r := range k {
				d[i] += (x[r][i] - y[r][i]) / k
			}
		}
		if m := Clustered(d, nil, .95); covers(m.Lo, m.Hi) {
			plain++
		}
	}
	if crossed < rounds*92/100 || plain > rounds*85/100 {
		t.Errorf("covered %d and %d of %d", crossed, plain, rounds)
	}
}
