package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func upTo(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}

func TestPercentile(t *testing.T) {
	tests := []struct {
		values  []float64
		p, want float64
	}{
		{upTo(10), .5, 5.5}, {upTo(10), .9, 9.1}, {upTo(10), .95, 9.55}, {upTo(10), .99, 9.91},
		{upTo(10), 0, 1}, {upTo(10), 1, 10},
		{[]float64{7}, 0, 7}, {[]float64{7}, .95, 7}, {[]float64{7}, 1, 7},
		{[]float64{3, 3, 3}, .37, 3}, {[]float64{1, math.Inf(1)}, 0, 1},
	}
	for _, tt := range tests {
		if got := Percentile(tt.values, tt.p); !near(got, tt.want, 1e-12) {
			t.Errorf("Percentile(%v, %v) = %v, want %v", tt.values, tt.p, got, tt.want)
		}
	}
	if got := Median([]float64{9, 1, 4, 2}); got != 3 {
		t.Errorf("the median is %v, want 3", got)
	}
	for _, got := range []float64{
		Median(nil), Percentile(nil, .5), Percentile(upTo(3), 95), Percentile(upTo(3), -.1),
		Percentile(upTo(3), math.NaN()), Percentile([]float64{math.NaN(), 1, 2}, 1),
	} {
		if !math.IsNaN(got) {
			t.Errorf("got %v, want NaN", got)
		}
	}
}

func TestNearestRank(t *testing.T) {
	for _, tt := range []struct {
		values  []float64
		p, want float64
	}{
		// .07·100 is above 7 in floats.
		{upTo(100), .95, 95}, {upTo(100), .99, 99}, {upTo(100), .999, 100}, {upTo(100), .07, 7},
		{upTo(100), .0701, 8}, {upTo(10), 0, 1}, {upTo(10), 1, 10}, {upTo(10), .5, 5}, {[]float64{7}, .95, 7}, {[]float64{7}, 0, 7},
	} {
		if got := NearestRank(tt.values, tt.p); got != tt.want {
			t.Errorf("NearestRank(1 … %d, %v) = %v, want %v", len(tt.values), tt.p, got, tt.want)
		}
	}
	for _, got := range []float64{
		NearestRank(nil, .5), NearestRank(upTo(3), 95), NearestRank(upTo(3), -.1),
		NearestRank(upTo(3), math.NaN()), NearestRank([]float64{math.NaN(), 1}, 1),
	} {
		if !math.IsNaN(got) {
			t.Errorf("got %v, want NaN", got)
		}
	}
}

func TestPercentileVectors(t *testing.T) {
	type row struct {
		XS   string
		P    float64
		Want float64 `json:"linear_type7"`
		Rank float64 `json:"nearest_rank"`
	}
	samples := map[string][]float64{"1..10": upTo(10), "1..100": upTo(100)}
	for _, v := range vectors[row](t, "percentiles") {
		if got := Percentile(samples[v.XS], v.P/100); !near(got, v.Want, 1e-12) {
			t.Errorf("Percentile(%s, %v) = %v, want %v", v.XS, v.P/100, got, v.Want)
		}
		if got := NearestRank(samples[v.XS], v.P/100); got != v.Rank {
			t.Errorf("NearestRank(%s, %v) = %v, want %v", v.XS, v.P/100, got, v.Rank)
		}
	}
}

func TestPercentileStaysInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e9, 1e9), 1, 40).Draw(t, "values")
		slices.Sort(values)
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		q := rapid.Float64Range(p, 1).Draw(t, "q")
		at, above := Percentile(values, p), Percentile(values, q)
		first, last := values[0], values[len(values)-1]
		slack := 1e-15 * max(math.Abs(first), math.Abs(last))
		if at < first-slack || above > last+slack || at > above+slack {
			t.Fatalf("percentiles %v and %v of %v at %v and %v", at, above, values, p, q)
		}
		i := rapid.IntRange(0, len(values)-1).Draw(t, "i")
		if len(values) > 1 {
			got := Percentile(values, float64(i)/float64(len(values)-1))
			if gap := 1e-9 * (last - first); !near(got, values[i], gap+slack) {
				t.Fatalf("at the %dth value: %v, want %v", i, got, values[i])
			}
		}
	})
}

func TestQuantileCIMin(t *testing.T) {
	tests := []struct {
		p    float64
		want int
	}{{.5, 6}, {.9, 29}, {.95, 59}, {.99, 299}, {.1, 29}, {0, math.MaxInt}, {1, math.MaxInt}, {math.NaN(), math.MaxInt}}
	for _, tt := range tests {
		if got := QuantileCIMin(tt.p, .95); got != tt.want {
			t.Errorf("QuantileCIMin(%v, .95) = %d, want %d", tt.p, got, tt.want)
		}
	}
	for _, conf := range []float64{1, -1, 95, math.NaN()} {
		if got := QuantileCIMin(.5, conf); got != math.MaxInt {
			t.Errorf("QuantileCIMin(.5, %v) = %d", conf, got)
		}
	}
	if got := QuantileCIMin(.5, 0); got != 1 {
		t.Errorf("no confidence asked: %d, want 1", got)
	}
}

func TestQuantileCIMinVectors(t *testing.T) {
	type row struct {
		Q float64
		N int
	}
	for _, v := range vectors[row](t, "p95_min_n_for_ci") {
		if got := QuantileCIMin(v.Q, .95); got != v.N {
			t.Errorf("QuantileCIMin(%v, .95) = %d, want %d", v.Q, got, v.N)
		}
	}
}

func TestQuantileCIMinIsSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(.001, .999).Draw(t, "p")
		conf := rapid.Float64Range(.01, .999).Draw(t, "conf")
		covers := func(n int) bool {
			return math.Pow(p, float64(n))+math.Pow(1-p, float64(n)) <= 1-conf
		}
		n := 1
		for !covers(n) {
			n++
		}
		if got := QuantileCIMin(p, conf); got != n {
			t.Fatalf("QuantileCIMin(%v, %v) = %d, counting up yields %d", p, conf, got, n)
		}
	})
}

func TestQuantileCI(t *testing.T) {
	for _, c := range []struct {
		n       int
		p, conf float64
		lo, hi  int
		covers  float64
	}{
		{5, .5, .95, 0, 0, 0}, {6, .5, .95, 1, 6, .96875}, {8, .5, .95, 1, 7, .960938}, {10, .5, .95, 2, 9, .978516},
		{20, .5, .95, 6, 15, .958611}, {50, .5, .95, 18, 32, .951126},
		{58, .95, .95, 0, 0, 0}, {59, .95, .95, 50, 59, .950862}, {100, .95, .95, 91, 100, .965891},
		{1, .5, 0, 1, 1, 0}, {0, .5, .95, 0, 0, 0}, {-3, .5, .95, 0, 0, 0}, {100, 0, .95, 0, 0, 0},
		{100, 1, .95, 0, 0, 0}, {100, math.NaN(), .95, 0, 0, 0}, {100, .5, 1, 0, 0, 0}, {100, .5, math.NaN(), 0, 0, 0},
	} {
		lo, hi, covers := QuantileCI(c.n, c.p, c.conf)
		if lo != c.lo || hi != c.hi || !near(covers, c.covers, 5.1e-7) {
			t.Errorf("QuantileCI(%d, %v, %v) = %d, %d, %v, want %d, %d, %v", c.n, c.p, c.conf, lo, hi, covers, c.lo, c.hi, c.covers)
		}
	}
}

func TestQuantileCIVectors(t *testing.T) {
	for _, v := range shared[struct {
		N    int
		Want []float64 `json:"lo_order_hi_order_conf"` // null if there is none
	}](t, "median_ci_order_stats") {
		if v.Want == nil {
			v.Want = []float64{0, 0, 0}
		}
		lo, hi, covers := QuantileCI(v.N, .5, .95)
		if float64(lo) != v.Want[0] || float64(hi) != v.Want[1] || !near(covers, v.Want[2], 1e-12) {
			t.Errorf("median of %d: %d, %d, %v, want %v", v.N, lo, hi, covers, v.Want)
		}
	}
}

// binomialTerms returns P(B = x) for x = 0 … n by logarithms of the gamma function.
func binomialTerms(n int, p float64) []float64 {
	terms := make([]float64, n+1)
	all, _ := math.Lgamma(float64(n) + 1)
	for x := range terms {
		in, _ := math.Lgamma(float64(x) + 1)
		out, _ := math.Lgamma(float64(n-x) + 1)
		terms[x] = math.Exp(all - in - out + float64(x)*math.Log(p) + float64(n-x)*math.Log1p(-p))
	}
	return terms
}

// Of all pairs of ranks that cover, none is closer together.
func TestQuantileCIIsShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 120).Draw(t, "n")
		p := rapid.Float64Range(.02, .98).Draw(t, "p")
		conf := rapid.Float64Range(.5, .99).Draw(t, "conf")
		lo, hi, covers := QuantileCI(n, p, conf)
		if n < QuantileCIMin(p, conf) {
			if lo != 0 || hi != 0 || covers != 0 {
				t.Fatalf("too few: %d, %d, %v", lo, hi, covers)
			}
			return
		}
		terms := binomialTerms(n, p)
		probability := func(lo, hi int) float64 {
			sum := 0.0
			for x := lo; x < hi; x++ {
				sum += terms[x]
			}
			return sum
		}
		if lo < 1 || hi > n || lo >= hi || covers < conf || !near(covers, probability(lo, hi), 1e-10) {
			t.Fatalf("%d, %d of %d covers %v, by its terms %v", lo, hi, n, covers, probability(lo, hi))
		}
		for l := 1; l+hi-lo-1 <= n; l++ {
			if got := probability(l, l+hi-lo-1); got > conf+1e-9 {
				t.Fatalf("%d, %d is shorter than %d, %d and covers %v", l, l+hi-lo-1, lo, hi, got)
			}
		}
	})
}
