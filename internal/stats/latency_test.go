package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBackFill(t *testing.T) {
	for _, c := range []struct {
		value, interval float64
		want            []float64
	}{
		{1000, 100, []float64{1000, 900, 800, 700, 600, 500, 400, 300, 200, 100}}, {250, 100, []float64{250, 150}},
		{90, 100, []float64{90}}, {200, 100, []float64{200, 100}}, {100, 100, []float64{100}},
		{100, 0, []float64{100}}, {100, -5, []float64{100}}, {100, math.NaN(), []float64{100}}, {math.Inf(1), 1, []float64{math.Inf(1)}},
	} {
		if got := BackFill(c.value, c.interval); !slices.Equal(got, c.want) {
			t.Errorf("BackFill(%v, %v) = %v, want %v", c.value, c.interval, got, c.want)
		}
	}
}

func TestBackFillVectors(t *testing.T) {
	for _, v := range shared[struct {
		Value    float64
		Expected float64 `json:"expected_interval"`
		Recorded []float64
	}](t, "coordinated_omission") {
		if got := BackFill(v.Value, v.Expected); !slices.Equal(got, v.Recorded) {
			t.Errorf("BackFill(%v, %v) = %v, want %v", v.Value, v.Expected, got, v.Recorded)
		}
	}
}

// lmeReference are the published operating points from which LongMemEval-V2 measures gains, of its
// small and its medium tier.
var lmeReference = map[string][]OperatingPoint{
	"small":  {{51.0, 0.2}, {69.9, 177.2}, {58.6, 26.9}, {74.9, 108.3}},
	"medium": {{45.9, 0.3}, {68.7, 185.8}, {57.0, 25.8}, {70.1, 139.9}},
}

func TestLAFS(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		points   []OperatingPoint
		from, to float64
		want     float64
	}{
		{"small", lmeReference["small"], 1, 200, 55.764847},
		{"medium", lmeReference["medium"], 1, 200, 51.074089},
		{"as fast as the fastest that counts", []OperatingPoint{{50, 1}}, 1, 200, 50},
		{"half of the range", []OperatingPoint{{50, 10}}, 1, 100, 25},
		{"too slow", []OperatingPoint{{50, 200.1}}, 1, 200, 0},
		{"slower and worse", []OperatingPoint{{50, 10}, {40, 20}}, 1, 100, 25},
		{"none", nil, 1, 200, 0},
		{"latency 0", []OperatingPoint{{50, 0}}, 1, 200, nan},
		{"latency NaN", []OperatingPoint{{50, 1}, {50, nan}}, 1, 200, nan},
		{"accuracy NaN", []OperatingPoint{{nan, 1}}, 1, 200, nan},
		{"range from 0", []OperatingPoint{{50, 1}}, 0, 200, nan},
		{"empty range", []OperatingPoint{{50, 1}}, 5, 5, nan},
		{"infinite range", []OperatingPoint{{50, 1}}, 1, math.Inf(1), nan},
	} {
		expect(t, c.name, LAFS(c.points, c.from, c.to), c.want, 5.1e-7)
	}
}

func TestLAFSVectors(t *testing.T) {
	for _, v := range shared[struct {
		Small, Medium float64
		Gain          float64 `json:"gain_small_60_at_5s"`
	}](t, "lafs") {
		small, medium := lmeReference["small"], lmeReference["medium"]
		expect(t, "small", LAFS(small, 1, 200), v.Small, 1e-12)
		expect(t, "medium", LAFS(medium, 1, 200), v.Medium, 1e-12)
		more := append(slices.Clone(small), OperatingPoint{60, 5})
		expect(t, "gain", LAFS(more, 1, 200)-LAFS(small, 1, 200), v.Gain, 1e-12)
	}
}

// The score is the mean of the best accuracy over a fine grid of latencies, and a further point
// never lowers it.
func TestLAFSIsAMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) OperatingPoint {
			return OperatingPoint{rapid.Float64Range(0, 100).Draw(t, "accuracy"), rapid.Float64Range(.1, 400).Draw(t, "latency")}
		}), 0, 6).Draw(t, "points")
		const grid = 4000
		sum := 0.0
		for i := range grid {
			best, at := 0.0, math.Exp(math.Log(200)*(float64(i)+.5)/grid)
			for _, p := range points {
				if p.Latency <= at {
					best = max(best, p.Accuracy)
				}
			}
			sum += best
		}
		got := LAFS(points, 1, 200)
		if !near(got, sum/grid, .1) {
			t.Fatalf("%v, by the grid %v", got, sum/grid)
		}
		if more := LAFS(append(points, OperatingPoint{50, 20}), 1, 200); more < got-1e-9 {
			t.Fatalf("%v, with a point more %v", got, more)
		}
	})
}
