package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// flat returns the values of groups, one after another, and the number of the group of each.
func flat(groups [][]float64) (values []float64, cluster []int) {
	for c, group := range groups {
		for _, v := range group {
			values, cluster = append(values, v), append(cluster, c)
		}
	}
	return values, cluster
}

func TestClustered(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		groups                  [][]float64
		mean, naive, se, lo, hi float64
	}{
		{[][]float64{{1, 1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}}, .666667, .142134, .333333, -.767551, 2.100884},
		{[][]float64{{1}, {0}, {1}, {1}, {0}}, .6, .244949, .244949, -.080087, 1.280087},
		{[][]float64{{1, 0}, {0, 1}, {1, 0}}, .5, .223607, 0, nan, nan},
		// 0 but for rounding.
		{[][]float64{{1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, .9, .068825, 0, nan, nan},
		{[][]float64{{1, 1}, {1}}, 1, 0, 0, nan, nan},
		{[][]float64{{1, 0, 1}}, .666667, .333333, nan, nan, nan},
		{[][]float64{{1}}, 1, nan, nan, nan, nan},
		{nil, nan, nan, nan, nan, nan},
	} {
		values, cluster := flat(c.groups)
		got := Clustered(values, cluster, .95)
		for _, m := range []struct {
			name      string
			got, want float64
		}{{"mean", got.Mean, c.mean}, {"naive SE", got.NaiveSE, c.naive}, {"SE", got.SE, c.se}, {"lo", got.Lo, c.lo}, {"hi", got.Hi, c.hi}} {
			expect(t, fmt.Sprintf("%v: %s", c.groups, m.name), m.got, m.want, 5.1e-7)
		}
		if got.Clusters != len(c.groups) {
			t.Errorf("%v: %d clusters", c.groups, got.Clusters)
		}
	}
	if got := Clustered([]float64{1, 2}, []int{1}, .95); !math.IsNaN(got.Mean) {
		t.Errorf("a value without a cluster: %+v", got)
	}
	if got := Clustered([]float64{1, 2}, []int{1, 2}, 1); !math.IsNaN(got.Lo) || !math.IsNaN(got.Hi) || !near(got.SE, .5, 1e-12) {
		t.Errorf("confidence 1: %+v", got)
	}
}

func TestClusteredVectors(t *testing.T) {
	for _, v := range shared[struct {
		Groups [][]float64
		Mean   float64
		Naive  float64 `json:"naive_se"`
		Plain  float64 `json:"clustered_se"`
		SE     float64 `json:"clustered_se_finite"`
	}](t, "clustered_se") {
		values, cluster := flat(v.Groups)
		got, c := Clustered(values, cluster, .95), float64(len(v.Groups))
		expect(t, fmt.Sprintf("%v: mean", v.Groups), got.Mean, v.Mean, 1e-14)
		expect(t, fmt.Sprintf("%v: naive SE", v.Groups), got.NaiveSE, v.Naive, 1e-14)
		expect(t, fmt.Sprintf("%v: SE", v.Groups), got.SE, v.SE, 1e-14)
		expect(t, fmt.Sprintf("%v: SE without the correction", v.Groups), got.SE*math.Sqrt((c-1)/c), v.Plain, 1e-14)
	}
}

// The values i mod 5 with the first 180 in one cluster and 20 clusters of one are a test of
// Inspect.
func TestClusteredInspectCase(t *testing.T) {
	for _, v := range shared[struct {
		Mean  float64
		Naive float64 `json:"naive_se"`
		SE    float64 `json:"clustered_se_finite"`
	}](t, "clustered_se_inspect_case") {
		values, cluster := make([]float64, 200), make([]int, 200)
		for i := range values {
			values[i], cluster[i] = float64(i%5), max(0, i-179)
		}
		got := Clustered(values, cluster, .95)
		expect(t, "mean", got.Mean, v.Mean, 1e-14)
		expect(t, "naive SE", got.NaiveSE, v.Naive, 1e-14)
		expect(t, "SE", got.SE, v.SE, 1e-14)
	}
}

// The labels and the order of the values do not matter, clusters of one change nothing, and
// repeating each value in its cluster adds nothing to what is known.
func TestClusteredProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Scores, none so small that its square is 0.
		score := rapid.Map(rapid.IntRange(0, 1_000_000), func(n int) float64 { return float64(n) / 1_000_000 })
		values := rapid.SliceOfN(score, 2, 40).Draw(t, "values")
		single, cluster := make([]int, len(values)), make([]int, len(values))
		for i := range values {
			single[i], cluster[i] = i*7-3, rapid.IntRange(0, 5).Draw(t, "cluster")
		}
		if got := Clustered(values, single, .95); !near(got.SE, got.NaiveSE, 1e-12) {
			t.Fatalf("clusters of one: %+v", got)
		}
		got := Clustered(values, cluster, .95)
		var doubled []float64
		var labels []int
		for i := len(values) - 1; i >= 0; i-- {
			doubled, labels = append(doubled, values[i], values[i]), append(labels, 1000-cluster[i], 1000-cluster[i])
		}
		twice := Clustered(doubled, labels, .95)
		if !near(twice.Mean, got.Mean, 1e-12) || twice.Clusters != got.Clusters || !same(twice.SE, got.SE, 1e-12) || !same(twice.Lo, got.Lo, 1e-9) {
			t.Fatalf("%+v, each value twice %+v", got, twice)
		}
		if got.SE > 0 && !(got.Lo <= got.Mean && got.Mean <= got.Hi) {
			t.Fatalf("the interval is beside the mean: %+v", got)
		}
	})
}

// The design effect is the squared ratio of the standard errors with clusters and without
// (statistics.md B.3), and never below 1.
func TestDesignEffect(t *testing.T) {
	alike := []float64{1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1}
	expect(t, "design effect of clusters that are alike within",
		DesignEffect(alike, []int{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}), 5.5, 1e-9)
	expect(t, "of clusters that balance", DesignEffect([]float64{1, 0, 1, 0}, []int{0, 0, 1, 1}), 1, 0)
	expect(t, "of one cluster", DesignEffect(alike, make([]int, 12)), 1, 0)
}
