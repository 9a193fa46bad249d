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
	for _, got := range []float64{
		Percentile(nil, .5), Percentile(upTo(3), 95), Percentile(upTo(3), -.1),
		Percentile(upTo(3), math.NaN()), Percentile([]float64{math.NaN(), 1, 2}, 1),
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
	}
	samples := map[string][]float64{"1..10": upTo(10), "1..100": upTo(100)}
	for _, v := range vectors[row](t, "percentiles") {
		if got := Percentile(samples[v.XS], v.P/100); !near(got, v.Want, 1e-12) {
			t.Errorf("Percentile(%s, %v) = %v, want %v", v.XS, v.P/100, got, v.Want)
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
