package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// nightly is the test that a trend makes.
var nightly = ChangeTest{MinSegment: 3, Alpha: 0.02, Resamples: 999, Seed: 1}

// binomialSeries draws one element of n attempts for each rate. If spread is above 0, the rate of
// an element differs from its own by up to spread.
func binomialSeries(rng *rand.Rand, n int, spread float64, rates ...float64) (passed, total []int) {
	for _, p := range rates {
		p += spread * (2*rng.Float64() - 1)
		k := 0
		for range n {
			if rng.Float64() < p {
				k++
			}
		}
		passed, total = append(passed, k), append(total, n)
	}
	return passed, total
}

func TestChangePoints(t *testing.T) {
	hundred := func(n int) []int { return slices.Repeat([]int{100}, n) }
	for _, c := range []struct {
		name   string
		passed []int
		want   []int // the places
	}{
		{"none", nil, nil},
		{"too short", []int{90, 90, 90, 10, 10}, nil},
		{"equal nights", slices.Repeat([]int{100}, 20), nil},
		{"all failed", slices.Repeat([]int{0}, 20), nil},
		{"one bad night", slices.Concat(slices.Repeat([]int{90}, 10), []int{40}, slices.Repeat([]int{90}, 10)), nil},
		{"a drop that stays", []int{84, 82, 84, 81, 83, 85, 84, 83, 71, 72, 70, 73, 71, 72}, []int{8}},
		{"a rise in the last three nights", slices.Concat(slices.Repeat([]int{90}, 17), slices.Repeat([]int{99}, 3)), []int{17}},
		{"there and back", slices.Concat(slices.Repeat([]int{90}, 12), slices.Repeat([]int{60}, 12), slices.Repeat([]int{90}, 12)), []int{12, 24}},
		{"a dip", slices.Concat(slices.Repeat([]int{90}, 14), slices.Repeat([]int{60}, 4), slices.Repeat([]int{90}, 4)), []int{14, 18}},
		{"a dip to the end, noisy", []int{90, 88, 91, 90, 92, 89, 90, 91, 88, 90, 91, 75, 74, 76, 77, 75, 74, 78}, []int{11}},
		{"two steps", slices.Concat(slices.Repeat([]int{95}, 10), slices.Repeat([]int{80}, 10), slices.Repeat([]int{50}, 10)), []int{10, 20}},
	} {
		points := ChangePoints(c.passed, hundred(len(c.passed)), nightly)
		var places []int
		for _, p := range points {
			places = append(places, p.At)
			if !(p.P >= 2.0/(1+float64(nightly.Resamples)) && p.P <= nightly.Alpha) {
				t.Errorf("%s: P is %v", c.name, p.P)
			}
		}
		if diff := cmp.Diff(c.want, places); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	points := ChangePoints([]int{84, 82, 84, 81, 83, 85, 84, 83, 71, 72, 70, 73, 71, 72}, hundred(14), nightly)
	if len(points) != 1 || !near(points[0].Before, 666.0/800, 1e-12) || !near(points[0].After, 429.0/600, 1e-12) {
		t.Errorf("got %+v", points)
	}
}

// TestChangePointsStatistic compares χ² with its definition, the sum over the four counts of a
// table.
func TestChangePointsStatistic(t *testing.T) {
	from, to, got := clearestStretch([]outcomes{{9, 10}, {8, 10}, {3, 10}, {4, 20}, {10, 10}}, 1, true)
	want := 0.0
	for _, side := range []struct{ k, n float64 }{{7, 30}, {27, 30}} {
		for _, cell := range [][2]float64{{side.k, side.n * 34 / 60}, {side.n - side.k, side.n * 26 / 60}} {
			want += (cell[0] - cell[1]) * (cell[0] - cell[1]) / cell[1]
		}
	}
	if from != 2 || to != 4 || !near(got, want, 1e-9) {
		t.Errorf("got [%d, %d) with %v, want [2, 4) with %v", from, to, got, want)
	}
}

func TestChangePointsWithoutMeaning(t *testing.T) {
	k, n := []int{9, 9, 9, 9, 1, 1, 1, 1}, slices.Repeat([]int{10}, 8)
	if len(ChangePoints(k, n, ChangeTest{MinSegment: 2, Alpha: 0.1, Resamples: 99})) == 0 {
		t.Fatal("the series has no change")
	}
	for _, test := range []ChangeTest{
		{}, {MinSegment: 0, Alpha: 0.1, Resamples: 99}, {MinSegment: 2, Alpha: 0, Resamples: 99},
		{MinSegment: 2, Alpha: 1, Resamples: 99}, {MinSegment: 2, Alpha: math.NaN(), Resamples: 99}, {MinSegment: 2, Alpha: 0.1},
	} {
		if got := ChangePoints(k, n, test); got != nil {
			t.Errorf("%+v: got %v", test, got)
		}
	}
	valid := ChangeTest{MinSegment: 2, Alpha: 0.1, Resamples: 99}
	if got := ChangePoints(k[:7], n, valid); got != nil {
		t.Errorf("lists of different lengths: %v", got)
	}
	k[2] = 11
	if got := ChangePoints(k, n, valid); got != nil {
		t.Errorf("11 of 10: %v", got)
	}
	if got := ChangePoints(make([]int, 8), make([]int, 8), valid); got != nil {
		t.Errorf("0 of 0: %v", got)
	}
}

// TestChangePointsFalseAlarms simulates series without a change. The test promises 2%, and more
// than 5% of 200 would happen with a probability of 0.3%; the seed is fixed.
func TestChangePointsFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	rng := rand.New(rand.NewPCG(20260921, 0))
	for _, c := range []struct {
		name   string
		nights int
		rate   float64
		spread float64 // more than a binomial has
	}{
		{"14 nights", 14, 0.85, 0}, {"30 nights", 30, 0.85, 0}, {"90 nights", 90, 0.85, 0}, {"30 uneven nights", 30, 0.8, 0.15},
	} {
		alarms := 0
		for range 200 {
			k, n := binomialSeries(rng, 50, c.spread, slices.Repeat([]float64{c.rate}, c.nights)...)
			if len(ChangePoints(k, n, ChangeTest{MinSegment: 3, Alpha: 0.02, Resamples: 199, Seed: rng.Uint64()})) > 0 {
				alarms++
			}
		}
		t.Logf("%s: %d of 200", c.name, alarms)
		if alarms > 10 {
			t.Errorf("%s: a change in %d of 200 series without one", c.name, alarms)
		}
	}
}

// TestChangePointsPower simulates a loss of 10 points with 100 questions, which is found in most
// series and dated to within two nights.
func TestChangePointsPower(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	rng := rand.New(rand.NewPCG(20260922, 0))
	for _, c := range []struct{ before, after, want int }{{7, 7, 80}, {23, 7, 90}, {80, 10, 95}} {
		found := 0
		for range 100 {
			rates := slices.Concat(slices.Repeat([]float64{0.85}, c.before), slices.Repeat([]float64{0.72}, c.after))
			k, n := binomialSeries(rng, 100, 0, rates...)
			for _, p := range ChangePoints(k, n, ChangeTest{MinSegment: 3, Alpha: 0.02, Resamples: 199, Seed: rng.Uint64()}) {
				if p.At >= c.before-2 && p.At <= c.before+2 && p.After < p.Before {
					found++
					break
				}
			}
		}
		t.Logf("%d and %d nights: %d of 100", c.before, c.after, found)
		if found < c.want {
			t.Errorf("%d and %d nights: found in %d of 100 series", c.before, c.after, found)
		}
	}
}

// TestChangePointsProperties checks what holds for every series.
func TestChangePointsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nights := rapid.IntRange(0, 25).Draw(t, "nights")
		total := rapid.SliceOfN(rapid.IntRange(0, 30), nights, nights).Draw(t, "total")
		passed := make([]int, nights)
		for i := range passed {
			passed[i] = rapid.IntRange(0, total[i]).Draw(t, "passed")
		}
		test := ChangeTest{MinSegment: rapid.IntRange(1, 4).Draw(t, "min"), Alpha: 0.2, Resamples: 59, Seed: rapid.Uint64().Draw(t, "seed")}
		points := ChangePoints(passed, total, test)
		last := 0
		for _, p := range append(slices.Clone(points), ChangePoint{At: nights, P: 0.1}) {
			if len(points) > 0 && p.At-last < test.MinSegment || p.P > test.Alpha || p.P < 2.0/60 {
				t.Fatalf("%v of %v: got %+v", passed, total, points)
			}
			last = p.At
		}
		if diff := cmp.Diff(points, ChangePoints(passed, total, test)); diff != "" {
			t.Fatal("another result with the same seed: " + diff)
		}
	})
}

func BenchmarkChangePoints90Nights(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	k, n := binomialSeries(rng, 100, 0, slices.Repeat([]float64{0.85}, 90)...)
	for b.Loop() {
		ChangePoints(k, n, ChangeTest{MinSegment: 3, Alpha: 0.02, Resamples: 1999, Seed: 1})
	}
}
