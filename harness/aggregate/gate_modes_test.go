package aggregate_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/stats"
)

// judgedBy returns the verdict on passed of total questions by settings. Each question has the
// tags.
func judgedBy(passed, total int, set result.Settings, clusters *result.ClusteredRate, tags ...string) result.Gate {
	sum := aggregate.New(5)
	for i := range total {
		r := result.Record{Outcome: result.Scored, Score: new(0.0), Tags: tags}
		if i < passed {
			*r.Score, r.Passed = 1, true
		}
		sum.Add(r)
	}
	res := result.Result{Planned: total, Settings: set}
	sum.Fill(&res)
	res.Clustered = clusters
	sum.Judge(&res)
	return *res.Gate
}

func TestFloorModes(t *testing.T) {
	for _, c := range []struct {
		passed, total int
		mode          result.FloorMode
		want          result.Verdict
		required      int
		sentence      string
	}{
		{46, 50, result.FloorPoint, result.Pass, 45, "46/50 passes the floor 0.9 (needs 45), not proven"},
		{46, 50, result.FloorProven, result.Fail, 49, "46/50 does not prove the floor 0.9 (needs 49): the one-sided 95% lower bound, 0.826, is below it; about 1352 questions would settle it, if this is the true rate"},
		{48, 50, result.FloorProven, result.Fail, 49, "48/50 does not prove the floor 0.9 (needs 49): the one-sided 95% lower bound, 0.879, is below it; about 137 questions would settle it, if this is the true rate"},
		{49, 50, result.FloorProven, result.Pass, 49, "49/50 proves the floor 0.9: the one-sided 95% lower bound, 0.909, reaches it"},
		{10, 10, result.FloorProven, result.Fail, 11, "10/10 does not prove the floor 0.9 (no result on so few questions would): the one-sided 95% lower bound, 0.741, is below it; about 34 questions would settle it, if this is the true rate"},
		{44, 50, result.FloorNotRefuted, result.Pass, 41, "44/50 does not refute the floor 0.9 (needs 41): the one-sided 95% upper bound, 0.946, still reaches it"},
		{41, 50, result.FloorNotRefuted, result.Pass, 41, ""},
		{40, 50, result.FloorNotRefuted, result.Fail, 41, "40/50 refutes the floor 0.9 (needs 41): the one-sided 95% upper bound, 0.887, is below it"},
	} {
		g := judgedBy(c.passed, c.total, result.Settings{Floor: 0.9, FloorMode: c.mode}, nil)
		if g.Verdict != c.want || g.Reason != result.ReasonFloor || g.Required != c.required || !strings.HasPrefix(g.Sentence, c.sentence) {
			t.Errorf("%d/%d %s: got %s %s, needs %d\n%s\n%s", c.passed, c.total, c.mode, g.Verdict, g.Reason, g.Required, g.Sentence, c.sentence)
		}
		if g.Mode == result.FloorPoint || (g.Mode == "") != (c.mode == result.FloorPoint) {
			t.Errorf("the mode %q is recorded as %q", c.mode, g.Mode)
		}
	}
}

func TestClusteredProof(t *testing.T) {
	for _, c := range []struct {
		name          string
		passed, total int
		clusters      result.ClusteredRate
		mode          result.FloorMode
		want          result.Verdict
		lower, upper  float64
		sentence      string
	}{
		// t(.95, 9 degrees) is 1.833113.
		{"the t interval is wider", 950, 1000, result.ClusteredRate{Clusters: 10, SE: new(0.03)}, result.FloorProven, result.Fail, .8950, 1,
			"950/1000 does not prove the floor 0.9: the one-sided 95% lower bound over 10 clusters, 0.895, is below it"},
		{"the exact one is wider", 46, 50, result.ClusteredRate{Clusters: 10, SE: new(0.001)}, result.FloorProven, result.Fail, .8262, .9722, ""},
		{"repeats that all passed", 50, 50, result.ClusteredRate{Clusters: 5, SE: new(0.0)}, result.FloorProven, result.Fail, .5493, 1,
			"50/50 does not prove the floor 0.9: the one-sided 95% lower bound over 5 clusters, 0.549, is below it"},
		{"clusters of one rate", 45, 90, result.ClusteredRate{Clusters: 3, SE: new(0.0)}, result.FloorNotRefuted, result.Pass, .0, .9, ""},
		{"one cluster", 90, 100, result.ClusteredRate{Clusters: 1}, result.FloorProven, result.Fail, 0, 1,
			"90/100 does not prove the floor 0.9: the one-sided 95% lower bound over 1 cluster, 0.000, is below it"},
		{"proven over clusters", 990, 1000, result.ClusteredRate{Clusters: 100, SE: new(0.01)}, result.FloorPoint, result.Pass, .9734, 1,
			"990/1000 passes the floor 0.9 (needs 900), proven: even the one-sided 95% lower bound over 100 clusters reaches it"},
		{"not proven over clusters", 910, 1000, result.ClusteredRate{Clusters: 10, SE: new(0.03)}, result.FloorPoint, result.Pass, .8550, .9650,
			"910/1000 passes the floor 0.9 (needs 900), not proven: the one-sided 95% lower bound over 10 clusters, 0.855, is below it"},
		{"refuted over clusters", 500, 1000, result.ClusteredRate{Clusters: 10, SE: new(0.03)}, result.FloorPoint, result.Fail, .4450, .5550,
			"500/1000 misses the floor 0.9 (needs 900), proven: even the one-sided 95% upper bound over 10 clusters, 0.555, is below it"},
	} {
		g := judgedBy(c.passed, c.total, result.Settings{Floor: 0.9, FloorMode: c.mode}, &c.clusters)
		p := g.Proof
		if c.name == "clusters of one rate" { // 1 and 2 of 3
			c.lower, c.upper = stats.ExactLower(1, 3, 0.95), stats.ExactUpper(2, 3, 0.95)
		}
		if g.Verdict != c.want || p.Method != result.MethodClustered || p.Clusters != c.clusters.Clusters || p.Needed != nil || p.Questions != nil ||
			math.Abs(p.Lower-c.lower) > 6e-5 || math.Abs(p.Upper-c.upper) > 6e-5 {
			t.Errorf("%s: got %s, %+v", c.name, g.Verdict, p)
		}
		if !strings.HasPrefix(g.Sentence, c.sentence) {
			t.Errorf("%s: got %s", c.name, g.Sentence)
		}
	}
}

func TestTagFloors(t *testing.T) {
	set := func(floor float64, tags map[string]float64) result.Settings {
		return result.Settings{Floor: floor, TagFloors: tags}
	}
	g := judgedBy(8, 10, set(0.5, map[string]float64{"b": 0.8, "a": 0.9}), nil, "a", "b")
	if g.Verdict != result.Fail || g.Reason != result.ReasonTag || len(g.Tags) != 2 || g.Tags[0].Tag != "a" || g.Tags[0].Met || !g.Tags[1].Met || g.Tags[1].Required != 8 {
		t.Errorf("got %+v", g)
	}
	if !strings.Contains(g.Sentence, `; tag "a": 8/10 misses the floor 0.9 (needs 9), `) || strings.Contains(g.Sentence, `tag "b"`) {
		t.Errorf("got %s", g.Sentence)
	}
	if g := judgedBy(8, 10, set(0.9, map[string]float64{"a": 0.9}), nil, "a"); g.Reason != result.ReasonFloor || g.Verdict != result.Fail {
		t.Errorf("got %+v", g)
	}
	if g := judgedBy(8, 10, set(0.5, map[string]float64{"a": 0.8}), nil, "a"); g.Reason != result.ReasonFloor || g.Verdict != result.Pass {
		t.Errorf("got %+v", g)
	}
	if g := judgedBy(10, 10, set(0.5, map[string]float64{"a": 0}), nil, "b"); g.Reason != result.ReasonTag || g.Tags[0].Met || !strings.Contains(g.Sentence, `tag "a": no question counts, the floor is 0`) {
		t.Errorf("got %+v", g)
	}
	proven := set(0, map[string]float64{"a": 0.5})
	proven.FloorMode = result.FloorProven
	if g := judgedBy(6, 10, proven, nil, "a"); g.Reason != result.ReasonTag || g.Tags[0].Required != 9 {
		t.Errorf("got %+v", g)
	}
}

// TestModeProperties checks that each mode is monotone in the passes, that proven implies point and
// point implies not-refuted, and that the verdict follows from Required.
func TestModeProperties(t *testing.T) {
	modes := []result.FloorMode{result.FloorProven, result.FloorPoint, result.FloorNotRefuted}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		floor := float64(rapid.IntRange(0, 100).Draw(t, "percent")) / 100
		stricter := slices.Repeat([]bool{false}, n+1)
		for i, mode := range modes {
			before := false
			for k := range n + 1 {
				g := judgedBy(k, n, result.Settings{Floor: floor, FloorMode: mode}, nil)
				pass := g.Verdict == result.Pass
				if before && !pass || i > 0 && stricter[k] && !pass || pass != (k >= g.Required) {
					t.Fatalf("%d of %d, floor %v, %s: %v after %v, stricter %v, needs %d", k, n, floor, mode, pass, before, stricter[k], g.Required)
				}
				before, stricter[k] = pass, pass
			}
		}
	})
}

// TestOperatingCharacteristic compares WorsePasses of each mode with the sum over all outcomes that
// pass.
func TestOperatingCharacteristic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		set := result.Settings{
			Floor:     float64(rapid.IntRange(0, 100).Draw(t, "percent")) / 100,
			FloorMode: rapid.SampledFrom([]result.FloorMode{result.FloorPoint, result.FloorProven, result.FloorNotRefuted}).Draw(t, "mode"),
		}
		p := judgedBy(0, n, set, nil).Proof
		sum, ways := 0.0, 1.0
		for k := range n + 1 {
			if judgedBy(k, n, set, nil).Verdict == result.Pass {
				sum += ways * math.Pow(p.WorseRate, float64(k)) * math.Pow(1-p.WorseRate, float64(n-k))
			}
			ways = ways * float64(n-k) / float64(k+1)
		}
		if math.Abs(sum-p.WorsePasses) > 1e-9 {
			t.Errorf("%d questions, %+v: %v pass, want %v", n, set, p.WorsePasses, sum)
		}
	})
}

// TestTagFloorsOverClusters checks that the figures of a tag respect clusters and repeats: what 100
// independent questions prove, 5 clusters do not.
func TestTagFloorsOverClusters(t *testing.T) {
	judged := func(cluster string, repeats int) result.Result {
		sum := aggregate.New(5)
		for i := range 100 {
			r := outcome(fmt.Sprint("q", i%20), i, i%5 < 2)
			r.Tags = []string{"x", fmt.Sprintf("topic:%d", i%5)}
			if repeats > 1 {
				r.Repeat = 1 + i/20
			}
			sum.Add(r)
		}
		res := result.Result{Planned: 100, Settings: result.Settings{
			ClusterTag: cluster, TagFloors: map[string]float64{"x": 0.55, "topic:0": 0.5},
		}}
		res.Identity.Dataset.Repeats = repeats
		sum.Fill(&res)
		sum.Judge(&res)
		return res
	}
	for _, c := range []struct {
		name     string
		cluster  string
		repeats  int
		method   string // of the interval of the tag
		clusters int
		refuted  bool
	}{
		{"independent", "", 1, "wilson", 0, true},
		{"clusters", "topic", 1, "clustered_t", 5, false},
		{"repeats", "", 5, "clustered_t", 20, false},
		{"clusters of repeats", "topic", 5, "clustered_t", 5, false},
	} {
		res := judged(c.cluster, c.repeats)
		g, f := res.Gate.Tags[1], res.Tags["x"]
		if g.Tag != "x" || g.Met || g.Proof.Refuted != c.refuted || g.Proof.Clusters != c.clusters || f.Interval.Method != c.method {
			t.Errorf("%s: got %+v, %+v, %+v", c.name, g, g.Proof, f.Interval)
		}
		// The questions of one cluster are as independent as those of a run without clusters.
		if own := res.Tags["topic:0"]; c.repeats == 1 && own.Interval.Method != "wilson" {
			t.Errorf("%s: got %+v", c.name, own.Interval)
		}
	}
	if i := filled("topic", 0, scored("a", true, "x", "topic:1"), scored("b", false, "x", "topic:1"), scored("c", true, "topic:2")).Tags["x"].Interval; i != nil {
		t.Errorf("a tag in one cluster: got %+v", i)
	}
}
