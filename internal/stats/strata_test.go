package stats

import (
	"math"
	"math/rand/v2"
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

// TestStratifiedClustersOfOneStratum: one stratum, or two with the same outcomes in each
// cluster, have the standard error of Clustered.
func TestStratifiedClustersOfOneStratum(t *testing.T) {
	var values []float64
	var cluster []int
	var one, two []ClusteredCell
	for c, passed := range []int{10, 10, 8, 6, 2} {
		one = append(one, ClusteredCell{0, c, 10, passed})
		two = append(two, ClusteredCell{0, c, 5, passed / 2}, ClusteredCell{1, c, 5, passed / 2})
		for i := range 10 {
			v := 0.0
			if i < passed {
				v = 1
			}
			values, cluster = append(values, v), append(cluster, c)
		}
	}
	want := Clustered(values, cluster, .95)
	for name, got := range map[string]StratifiedRate{
		"one": StratifiedClusters([]Cell{{1000, 50, 36}}, one, .95),
		"two": StratifiedClusters([]Cell{{500, 25, 18}, {500, 25, 18}}, two, .95),
	} {
		if !near(got.Rate, want.Mean, 1e-12) || !near(got.SE, want.SE, 1e-12) || !near(got.Lo, max(0, want.Lo), 1e-12) || !near(got.Hi, min(1, want.Hi), 1e-12) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestStrataOfOneCluster: a stratum of one question, or of one cluster, has an error.
func TestStrataOfOneCluster(t *testing.T) {
	single := []Cell{{40, 20, 10}}
	var parts []ClusteredCell
	for c, n := range []int{4, 4, 3, 3, 3, 3} {
		parts = append(parts, ClusteredCell{0, c, n, []int{2, 2, 2, 1, 1, 2}[c]})
	}
	for h := range 5 {
		single = append(single, Cell{40, 1, h % 2})
		parts = append(parts, ClusteredCell{h + 1, h, 1, h % 2})
	}
	// The rate of a stratum is the rate of its conversation: 10, 8, 6, 4, 2 and 0 of 10.
	var own []Cell
	var ownParts []ClusteredCell
	var values []float64
	var cluster []int
	for h := range 6 {
		own, ownParts = append(own, Cell{1000, 10, 10 - 2*h}), append(ownParts, ClusteredCell{h, h, 10, 10 - 2*h})
		for i := range 10 {
			v := 0.0
			if i < 10-2*h {
				v = 1
			}
			values, cluster = append(values, v), append(cluster, h)
		}
	}
	got := StratifiedClusters(single, parts, .95)
	if got.SE < .15 || !contains(got, Stratified(single, .95)) {
		t.Errorf("strata of one question: %+v, independent %+v", got, Stratified(single, .95))
	}
	if got, want := StratifiedClusters(own, ownParts, .95), Clustered(values, cluster, .95); !near(got.SE, want.SE, 1e-12) {
		t.Errorf("strata of one conversation: %+v, want %+v", got, want)
	}
	// One such stratum beside others adds how far it is from the rate of all.
	own, ownParts = []Cell{{90, 20, 10}, {10, 2, 2}}, []ClusteredCell{{0, 0, 10, 5}, {0, 1, 10, 5}, {1, 1, 2, 2}}
	if got := StratifiedClusters(own, ownParts, .95); got.SE < .045 || !contains(got, Stratified(own, .95)) {
		t.Errorf("one stratum of one conversation: %+v", got)
	}
}

// contains reports whether an interval contains another one.
func contains(r, other StratifiedRate) bool { return r.Lo <= other.Lo && other.Hi <= r.Hi }

// The interval over clusters contains the rate and the interval for independent questions, and
// does not depend on the numbers of the clusters.
func TestStratifiedClustersProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cells []Cell
		var parts []ClusteredCell
		clusters := rapid.IntRange(1, 6).Draw(t, "clusters")
		for h := range rapid.IntRange(1, 6).Draw(t, "strata") {
			var cell Cell
			for c := range clusters {
				if n := rapid.IntRange(0, 3).Draw(t, "sampled"); n > 0 {
					k := rapid.IntRange(0, n).Draw(t, "passed")
					parts = append(parts, ClusteredCell{h, c, n, k})
					cell.Sampled, cell.Passed = cell.Sampled+n, cell.Passed+k
				}
			}
			if cell.Sampled > 0 {
				cell.Population = cell.Sampled + rapid.IntRange(0, 50).Draw(t, "rest")
			}
			cells = append(cells, cell)
		}
		got, independent := StratifiedClusters(cells, parts, .95), Stratified(cells, .95)
		if math.IsNaN(got.Lo) {
			if !math.IsNaN(independent.Lo) && len(inClusters(parts)) > 1 {
				t.Fatalf("%+v, and %+v if independent", got, independent)
			}
			return
		}
		if !contains(got, independent) || got.SE < independent.SE || !(got.Lo <= got.Rate && got.Rate <= got.Hi) {
			t.Fatalf("%+v, and %+v if independent", got, independent)
		}
		for i := range parts {
			parts[i].Cluster = 10 - parts[i].Cluster
		}
		if again := StratifiedClusters(cells, parts, .95); !near(again.Lo, got.Lo, 1e-12) || !near(again.Hi, got.Hi, 1e-12) {
			t.Fatalf("%+v, and %+v with other numbers", got, again)
		}
	})
}

func inClusters(parts []ClusteredCell) map[int]bool {
	in := map[int]bool{}
	for _, part := range parts {
		in[part.Cluster] = true
	}
	return in
}

// simulateStrata simulates 20 conversations whose rates are higher or lower than those of the
// types by apart. Each of 10 types has 10 questions from so many conversations.
func simulateStrata(rounds, conversations int, apart float64) (c simulatedCoverage) {
	random := rand.New(rand.NewPCG(6, uint64(conversations)))
	const strata, clusters, size = 10, 20, 10
	for range rounds {
		cells := make([]Cell, strata)
		var parts []ClusteredCell
		var better [clusters]float64
		for i := range better {
			better[i] = apart * float64(random.IntN(2)*2-1)
		}
		for h := range cells {
			rate := .4 + .2*float64(h%2)
			for i := range conversations {
				in := (2*h + i) % clusters
				n := size / conversations
				k := passedOf(random, n, rate+better[in])
				parts = append(parts, ClusteredCell{h, in, n, k})
				cells[h] = Cell{1000, cells[h].Sampled + n, cells[h].Passed + k}
			}
		}
		got, naive := StratifiedClusters(cells, parts, .95), Stratified(cells, .95)
		if got.Lo <= .5 && .5 <= got.Hi {
			c.Clustered += 1 / float64(rounds)
		}
		if naive.Lo <= .5 && .5 <= naive.Hi {
			c.Naive += 1 / float64(rounds)
		}
	}
	return c
}

// The interval covers the rate also if types have questions of few conversations.
func TestSimulatedCoverageOfStratifiedClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for _, conversations := range []int{1, 2, 5, 10} {
		for _, apart := range []float64{0, .15, .3} {
			got := simulateStrata(1000, conversations, apart)
			if got.Clustered < .91 {
				t.Errorf("%d conversations, %v apart: %+v", conversations, apart, got)
			}
		}
	}
}
