package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMeanCI(t *testing.T) {
	for _, c := range []struct {
		n                            int
		mean, variance, conf, lo, hi float64
	}{
		{10, 4.5, 55.0 / 6, 0.95, 2.334149410, 6.665850590}, // 0 to 9
		{2, 0, 2, 0.95, -12.706204736, 12.706204736},
		{11, 1, 11, 0.95, 1 - 2.228138852, 1 + 2.228138852},
		{31, 0, 31, 0.95, -2.042272456, 2.042272456},
		{5, 0.5, 0, 0.95, 0.5, 0.5},
	} {
		lo, hi := MeanCI(c.n, c.mean, c.variance, c.conf)
		if !near(lo, c.lo, 1e-8) || !near(hi, c.hi, 1e-8) {
			t.Errorf("MeanCI(%d, %v, %v, %v) = %v, %v; want %v, %v", c.n, c.mean, c.variance, c.conf, lo, hi, c.lo, c.hi)
		}
	}
	for _, c := range []struct {
		n              int
		variance, conf float64
	}{{0, 1, 0.95}, {1, 0, 0.95}, {5, -1, 0.95}, {5, math.NaN(), 0.95}, {5, 1, 0}, {5, 1, 1}} {
		if lo, hi := MeanCI(c.n, 0, c.variance, c.conf); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("MeanCI(%d, 0, %v, %v) = %v, %v; want NaN", c.n, c.variance, c.conf, lo, hi)
		}
	}
}

func TestMeanCIVectors(t *testing.T) {
	for _, v := range vectors[struct {
		DF int     `json:"df"`
		T  float64 `json:"t"`
	}](t, "t_ppf_975") {
		if _, hi := MeanCI(v.DF+1, 0, float64(v.DF+1), 0.95); !near(hi, v.T, 1e-8*v.T) {
			t.Errorf("t of %d degrees of freedom is %v, want %v", v.DF, hi, v.T)
		}
	}
}

func TestMeanCIOfValues(t *testing.T) {
	for _, v := range shared[struct {
		XS       []float64
		Mean, SE float64
		CI       [2]float64 `json:"ci95"`
	}](t, "mean_ci") {
		mean, variance := Moments(v.XS)
		lo, hi := MeanCI(len(v.XS), mean, variance, .95)
		expect(t, "mean", mean, v.Mean, 1e-14)
		expect(t, "SE", math.Sqrt(variance/float64(len(v.XS))), v.SE, 1e-14)
		expect(t, "lo", lo, v.CI[0], 1e-9)
		expect(t, "hi", hi, v.CI[1], 1e-9)
	}
}

func TestPairedMeans(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		a, b []float64
		want PairedMean
	}{
		{"by hand", []float64{1, 1, 0, 1, 0, 1, 1, 0, 1, 1}, []float64{1, 0, 0, 1, 0, 1, 0, 0, 1, 1},
			PairedMean{.2, 10, .133333, -.101621, .501621, 1.5, .167851}},
		{"one unscored in each", []float64{1, nan, 0, 3}, []float64{0, 1, nan, 0}, PairedMean{2, 2, 1, -10.706205, 14.706205, 2, .295167}},
		{"no difference", []float64{1, 0, .5}, []float64{1, 0, .5}, PairedMean{0, 3, 0, nan, nan, 0, 1}},
		{"differences cancel", []float64{1, 0}, []float64{0, 1}, PairedMean{0, 2, 1, -12.706205, 12.706205, 0, 1}},
		{"the same difference", []float64{2, 3, 4}, []float64{1, 2, 3}, PairedMean{1, 3, 0, nan, nan, nan, nan}},
		{"the same but for rounding", []float64{.3, .4, .8}, []float64{.2, .3, .7}, PairedMean{.1, 3, 0, nan, nan, nan, nan}},
		{"one pair", []float64{1}, []float64{0}, PairedMean{1, 1, nan, nan, nan, nan, nan}},
		{"none", nil, nil, PairedMean{nan, 0, nan, nan, nan, nan, nan}},
		{"lengths", []float64{1, 2}, []float64{1}, PairedMean{nan, 0, nan, nan, nan, nan, nan}},
	} {
		checkPairedMean(t, c.name, PairedMeans(c.a, c.b, .95), c.want, 5.1e-7)
	}
}

func checkPairedMean(t rapid.TB, name string, got, want PairedMean, tolerance float64) {
	t.Helper()
	if got.N != want.N {
		t.Errorf("%s: %d pairs, want %d", name, got.N, want.N)
	}
	for _, m := range []struct {
		what      string
		got, want float64
	}{{"mean", got.Mean, want.Mean}, {"SE", got.SE, want.SE}, {"lo", got.Lo, want.Lo}, {"hi", got.Hi, want.Hi}, {"T", got.T, want.T}, {"P", got.P, want.P}} {
		expect(t, name+": "+m.what, m.got, m.want, tolerance)
	}
}

func TestPairedMeansVectors(t *testing.T) {
	for _, v := range shared[struct {
		A, B        []float64
		Diff        float64 `json:"mean_diff"`
		SE, T       float64
		P           float64 `json:"p_t"`
		Independent float64 `json:"unpaired_se"`
	}](t, "paired_mean") {
		got := PairedMeans(v.A, v.B, .95)
		expect(t, "mean", got.Mean, v.Diff, 1e-14)
		expect(t, "SE", got.SE, v.SE, 1e-14)
		expect(t, "T", got.T, v.T, 1e-13)
		expect(t, "P", got.P, v.P, 1e-12)
		_, va := Moments(v.A)
		_, vb := Moments(v.B)
		expect(t, "unpaired SE", math.Sqrt((va+vb)/float64(len(v.A))), v.Independent, 1e-14)
	}
}

// Exchanging the arms mirrors the interval and keeps p; the interval excludes 0 exactly if p is
// below 1-conf.
func TestPairedMeansProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "n")
		unit := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n)
		a, b := unit.Draw(t, "a"), unit.Draw(t, "b")
		got, other := PairedMeans(a, b, .95), PairedMeans(b, a, .95)
		checkPairedMean(t, "mirror", PairedMean{-other.Mean, other.N, other.SE, -other.Hi, -other.Lo, -other.T, other.P}, got, 1e-12)
		if got.SE > 0 && !(got.Lo <= got.Mean && got.Mean <= got.Hi) {
			t.Fatalf("the interval is beside the mean: %+v", got)
		}
		if excluded := got.Lo > 0 || got.Hi < 0; excluded != (got.P < .05) && !near(got.P, .05, 1e-9) {
			t.Fatalf("interval and p contradict each other: %+v", got)
		}
	})
}
