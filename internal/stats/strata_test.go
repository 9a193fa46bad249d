package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStratified(t *testing.T) {
	for _, c := range []struct {
		name             string
		cells            []Cell
		rate, se, lo, hi float64
	}{
		{"as published", []Cell{{70, 10, 9}, {133, 10, 6}, {78, 10, 8}}, .730249, .085152, .553925, .855107},
		{"one stratum", []Cell{{1000000, 50, 46}}, .92, .038755, .811621, .968450},
		{"all of it", []Cell{{10, 10, 9}, {30, 30, 15}}, .6, 0, .6, .6},
		{"single question as a whole stratum", []Cell{{1, 1, 0}, {9, 9, 9}}, .9, 0, .9, .9},
		{"every cell passed as a whole", []Cell{{100, 10, 10}, {100, 10, 0}}, .5, 0, .308045, .691955},
		{"all passed", []Cell{{100, 10, 10}, {50, 10, 10}}, 1, 0, .841889, 1},
		{"none passed", []Cell{{100, 10, 0}, {50, 10, 0}}, 0, 0, 0, .158111},
		{"a cell without population", []Cell{{0, 0, 0}, {10, 10, 5}}, .5, 0, .5, .5},
	} {
		got := Stratified(c.cells, .95)
		if !near(got.Rate, c.rate, 5.1e-7) || !near(got.SE, c.se, 5.1e-7) || !near(got.Lo, c.lo, 5.1e-7) || !near(got.Hi, c.hi, 5.1e-7) {
			t.Errorf("%s: %+v, want %v, %v, %v, %v", c.name, got, c.rate, c.se, c.lo, c.hi)
		}
		if got.Unsampled != nil || got.Single != nil {
			t.Errorf("%s: %+v names cells as undefined", c.name, got)
		}
	}
}

func TestStratifiedVectors(t *testing.T) {
	for _, v := range shared[struct {
		Cells [][3]int
		Mean  float64
		SE    float64 `json:"se_fpc"`
	}](t, "stratified_estimate") {
		var cells []Cell
		for _, c := range v.Cells {
			cells = append(cells, Cell{c[0], c[1], c[2]})
		}
		if got := Stratified(cells, .95); !near(got.Rate, v.Mean, 1e-14) || !near(got.SE, v.SE, 1e-14) {
			t.Errorf("%v: %+v, want %v, %v", v.Cells, got, v.Mean, v.SE)
		}
	}
}

func TestStratifiedNamesUndefinedCells(t *testing.T) {
	got := Stratified([]Cell{{70, 10, 9}, {30, 1, 1}, {1, 1, 1}, {78, 1, 0}}, .95)
	if !slices.Equal(got.Single, []int{1, 3}) || got.Unsampled != nil || !math.IsNaN(got.SE) {
		t.Errorf("samples of one: %+v", got)
	}
	if want := (63 + 30 + 1) / 179.; !near(got.Rate, want, 1e-12) || !(got.Lo < want && want < got.Hi) {
		t.Errorf("samples of one have a rate and an interval: %+v, want %v", got, want)
	}
	got = Stratified([]Cell{{70, 10, 9}, {30, 0, 0}, {133, 1, 1}}, .95)
	if !slices.Equal(got.Unsampled, []int{1}) || !slices.Equal(got.Single, []int{2}) || !allNaN(got) {
		t.Errorf("without a sample: %+v", got)
	}
	for name, cells := range map[string][]Cell{
		"no cells":                {},
		"no population":           {{0, 0, 0}},
		"more passed than asked":  {{10, 5, 6}},
		"more asked than present": {{10, 11, 6}},
		"negative":                {{10, 5, -1}},
	} {
		if got := Stratified(cells, .95); !allNaN(got) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, conf := range []float64{0, 1, 95, math.NaN()} {
		if got := Stratified([]Cell{{10, 5, 3}}, conf); !allNaN(got) {
			t.Errorf("confidence %v: %+v", conf, got)
		}
	}
}

func allNaN(r StratifiedRate) bool {
	return math.IsNaN(r.Rate) && math.IsNaN(r.SE) && math.IsNaN(r.Lo) && math.IsNaN(r.Hi)
}

// With the same share of each stratum and a large population, the strata make no difference to the
// interval: it is Wilson's.
func TestStratifiedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Cell {
			sampled := rapid.IntRange(1, 50).Draw(t, "sampled")
			return Cell{sampled * 1_000_000, sampled, rapid.IntRange(0, sampled).Draw(t, "passed")}
		}), 1, 8).Draw(t, "cells")
		sampled, passed := 0, 0
		for _, c := range cells {
			sampled, passed = sampled+c.Sampled, passed+c.Passed
		}
		got := Stratified(cells, .95)
		lo, hi := Wilson(passed, sampled, .95)
		if !near(got.Rate, float64(passed)/float64(sampled), 1e-12) || !near(got.Lo, lo, 1e-6) || !near(got.Hi, hi, 1e-6) {
			t.Fatalf("%+v, want %d of %d, %v, %v", got, passed, sampled, lo, hi)
		}
		if (got.Lo == 0) != (passed == 0) || (got.Hi == 1) != (passed == sampled) {
			t.Fatalf("%+v: an end is pinned for no and for all passes only", got)
		}
	})
}
