package aggregate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

func scored(id string, passed bool, tags ...string) result.Record {
	score := 0.0
	if passed {
		score = 1
	}
	return result.Record{ID: id, Outcome: result.Scored, Score: &score, Passed: passed, Tags: tags}
}

// filled returns the figures of records of a run with this cluster tag that asks each question k
// times.
func filled(tag string, k int, records ...result.Record) result.Result {
	sum := aggregate.New(5)
	for _, r := range records {
		sum.Add(r)
	}
	res := result.Result{Settings: result.Settings{ClusterTag: tag}}
	res.Identity.Dataset.Repeats = k
	sum.Fill(&res)
	return res
}

var approx = cmpopts.EquateApprox(0, 1e-6)

// TestClusters: the standard error of [[1,1,1,1],[0,0,0,0],[1,1,1,1]] is that of statistics.md B.3.
func TestClusters(t *testing.T) {
	var records []result.Record
	for c, passed := range []bool{true, false, true} {
		for i := range 4 {
			records = append(records, scored(fmt.Sprint(c, i), passed, "x", fmt.Sprintf("conv:%d", c)))
		}
	}
	got := filled("conv", 0, records...)
	lo, hi := stats.MeanCI(3, 2.0/3, 1.0/3, 0.95) // 0.333333² · 3
	want := &result.ClusteredRate{Tag: "conv", Clusters: 3, SE: new(0.333333), NaiveSE: 0.142134,
		Interval: &result.Interval{Method: "clustered_t", Confidence: 0.95, Low: max(0, lo), High: min(1, hi)}}
	if diff := cmp.Diff(want, got.Clustered, approx); diff != "" {
		t.Error(diff)
	}
	if got.MeanScoreInterval != nil {
		t.Error("the scores are taken as independent")
	}
	if got := filled("", 0, records...); got.Clustered != nil || got.MeanScoreInterval == nil {
		t.Errorf("without a cluster tag: %v, %v", got.Clustered, got.MeanScoreInterval)
	}
}

func TestClusterEdges(t *testing.T) {
	one := []result.Record{scored("a", true, "conv:x"), scored("b", false, "conv:x")}
	if c := filled("conv", 0, one...).Clustered; c == nil || c.Clusters != 1 || c.SE != nil || c.Interval != nil {
		t.Errorf("one cluster: %+v", c)
	}
	all := []result.Record{scored("a", true, "conv:x"), scored("b", true, "conv:y"), scored("c", true, "conv:y")}
	_, hi := stats.Wilson(2, 2, 0.95)
	lo, _ := stats.Wilson(2, 2, 0.95)
	want := &result.Interval{Method: "wilson_clusters", Confidence: 0.95, Low: lo, High: hi}
	if diff := cmp.Diff(want, filled("conv", 0, all...).Clustered.Interval); diff != "" {
		t.Error("all passed: " + diff)
	}
	same := append(one, scored("c", true, "conv:y"), scored("d", false, "conv:y"))
	if c := filled("conv", 0, same...).Clustered; c.SE == nil || *c.SE != 0 || c.Interval != nil {
		t.Errorf("clusters of the same rate: %+v", c)
	}
	for name, records := range map[string][]result.Record{
		"one question":        one[:1],
		"outside the cluster": append(one, scored("c", true)),
		"no question":         nil,
	} {
		if c := filled("conv", 0, records...).Clustered; c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func tagged(records []result.Record, tag string) []result.Record {
	for i := range records {
		records[i].Tags = []string{tag}
	}
	return records
}

// attemptsOf returns the records of a question that is asked once for each of these outcomes.
func attemptsOf(id string, passed ...bool) (out []result.Record) {
	for i, p := range passed {
		r := scored(id, p)
		r.Repeat = i + 1
		out = append(out, r)
	}
	return out
}

func TestRepeats(t *testing.T) {
	var records []result.Record
	records = append(records, attemptsOf("b", true, true, false, false, false)...) // B.9: pass@2 .7, pass^2 .1
	records = append(records, attemptsOf("a", true, true, true, true, true)...)
	records = append(records, attemptsOf("c", false, false, false, false, false)...)
	records = append(records, attemptsOf("unfinished", true, false)...)
	failed := attemptsOf("d", true, true, true, true, true)
	failed[4].Outcome, failed[4].Score, failed[4].Passed = result.Errored, nil, false
	records = append(records, failed...)
	got := filled("", 5, records...).Repeats
	if got.K != 5 || got.Questions != 4 || got.Stable != 1 || got.Never != 1 || len(got.At) != 5 {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]result.FlakyQuestion{{ID: "b", Passed: 2, Asked: 5}, {ID: "d", Passed: 4, Asked: 5}}, got.Flaky); diff != "" {
		t.Error(diff)
	}
	at2 := result.RepeatsAt{K: 2, PassAt: (0.7 + 1 + 0 + 1) / 4, PassHat: (0.1 + 1 + 0 + 0.6) / 4}
	if diff := cmp.Diff(at2, got.At[1], approx); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{4.0 / 5, 3.0 / 5, 2.0 / 4, 2.0 / 4, 1.0 / 4}, got.Rates, approx); diff != "" {
		t.Error(diff)
	}
	if got.QuestionVariance == nil || got.RunVariance == nil {
		t.Error("no variances")
	}
	if i := filled("", 2, tagged(attemptsOf("a", true, true), "x")...).Tags["x"].Interval; i.Method != "wilson_clusters" || i.Low > 0.3 {
		t.Errorf("two attempts at one question count as two questions: %+v", i)
	}
	none := filled("", 5, attemptsOf("a", true)...).Repeats
	if none == nil || none.Questions != 0 || len(none.At) != 0 || none.Flaky == nil || none.QuestionVariance != nil {
		t.Errorf("a run that was stopped in its first pass: %+v", none)
	}
	if filled("", 0, scored("a", true)).Repeats != nil {
		t.Error("a run without repeats has some")
	}
}

// TestRepeatsAreOneCluster: repeats that agree say no more than one attempt.
func TestRepeatsAreOneCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 6).Draw(t, "k")
		outcomes := rapid.SliceOfN(rapid.Bool(), 3, 30).Draw(t, "outcomes")
		var once, often []result.Record
		for i, p := range outcomes {
			once = append(once, scored(fmt.Sprint(i), p, fmt.Sprintf("c:%d", i)))
			for range k {
				often = append(often, scored(fmt.Sprint(i), p))
				often[len(often)-1].Repeat = (len(often)-1)%k + 1
			}
		}
		tagged(often, "x")
		perm := rapid.Permutation(often).Draw(t, "order")
		a, b := filled("c", 0, once...).Clustered, filled("", k, perm...).Clustered
		if a.Clusters != b.Clusters || math.Abs(*a.SE-*b.SE) > 1e-9 {
			t.Fatalf("once %+v, %d times %+v", *a, k, *b)
		}
		i := filled("", k, often...)
		if diff := cmp.Diff(i.Clustered.Interval, i.Tags["x"].Interval); diff != "" && i.Clustered.Interval != nil {
			t.Fatal("a tag of all questions has another interval: " + diff)
		}
		if diff := cmp.Diff(filled("", k, often...), filled("", k, perm...)); diff != "" {
			t.Fatal("the figures depend on the order of the records: " + diff)
		}
	})
}

// TestNeededValues compares the constants with the statistic that they come from.
func TestNeededValues(t *testing.T) {
	for p, want := range map[float64]int{
		0.50: result.NeededForP50, 0.95: result.NeededForP95, 0.99: result.NeededForP99,
	} {
		if got := stats.QuantileCIMin(p, 0.95); got != want {
			t.Errorf("quantile %v needs %d values, the constant is %d", p, got, want)
		}
	}
}

// TestQuantilesNeedValues: one value fewer than needed has no percentile, and with as many it has
// an interval of order statistics.
func TestQuantilesNeedValues(t *testing.T) {
	upTo := func(n int) result.Quantiles {
		var values []float64
		for i := n; i > 0; i-- {
			values = append(values, float64(i))
		}
		return aggregate.Quantiles(values)
	}
	within := func(lo, hi float64) *result.Interval {
		return &result.Interval{Method: "order_statistics", Confidence: 0.95, Low: lo, High: hi}
	}
	for _, c := range []struct {
		n    int
		want result.Quantiles
	}{
		{0, result.Quantiles{}},
		{5, result.Quantiles{N: 5}},
		{6, result.Quantiles{N: 6, P50: new(3.5), P50Interval: within(1, 6)}},
		{50, result.Quantiles{N: 50, P50: new(25.5), P50Interval: within(18, 32)}},
	} {
		if diff := cmp.Diff(c.want, upTo(c.n)); diff != "" {
			t.Error(diff)
		}
	}
	for _, c := range []struct {
		n        int
		p95, p99 bool
	}{{58, false, false}, {59, true, false}, {298, true, false}, {299, true, true}} {
		q := upTo(c.n)
		if (q.P95 != nil) != c.p95 || (q.P95Interval != nil) != c.p95 || (q.P99 != nil) != c.p99 || (q.P99Interval != nil) != c.p99 {
			t.Errorf("%d values: %+v", c.n, q)
		}
	}
}
