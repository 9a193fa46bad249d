package record

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness/key"
)

// blockOf returns a block of requests that took these milliseconds.
func blockOf(target, size, round int, ms ...float64) Block {
	n := int64(len(ms))
	o := OpBlock{Op: "search", Offered: n, OK: n, InTime: n, Latency: NewHistogram()}
	for _, v := range ms {
		o.Latency.Add(int64(v * float64(time.Millisecond)))
	}
	return Block{Target: target, Size: size, Round: round, Seconds: 1, Ops: []OpBlock{o}}
}

// around returns n latencies around a mean.
func around(random *rand.Rand, mean float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean * (0.8 + 0.4*random.Float64())
	}
	return out
}

// bench returns a bench of targets whose mean latencies a function gives by target, size and round.
func bench(seed uint64, sizes []int, mean func(target, size, round int) float64, targets ...Target) *File {
	f := &File{Plan: Plan{Arrival: Constant, Stages: []Stage{{From: 10, To: 10}}, Sizes: sizes, Rounds: 10, FailOver: 0.1}, Targets: targets}
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 10 {
		for t := range targets {
			for _, size := range sizes {
				f.Blocks = append(f.Blocks, blockOf(t, size, round, around(random, mean(t, size, round), 400)...))
			}
		}
	}
	f.Compute()
	return f
}

func TestQuantilesNeedRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for n, want := range map[int][]bool{5: {false, false, false, false}, 6: {true, false, false, false}, 29: {true, true, false, false},
		298: {true, true, false, false}, 299: {true, true, true, false}, 3000: {true, true, true, true}} {
		s := summarise([]Block{blockOf(0, 1, 0, around(random, 10, n)...)})
		for i, q := range s.Ops[0].Latency.list() {
			if (q != nil) != want[i] {
				t.Errorf("%d requests: quantile %v is %v", n, quantiles[i], q)
			}
			if q != nil && q.Low != nil {
				t.Error("a single block has an interval")
			}
		}
	}
}

// Blocks that differ have a wide interval, although all their requests together say the same.
func TestIntervalsComeFromBlocks(t *testing.T) {
	width := func(differ float64) float64 {
		f := bench(2, []int{1}, func(_, _, round int) float64 { return 10 * (1 + differ*float64(round%2)) }, Target{Name: "a"})
		q := f.Summaries[0].Ops[0].Latency.P90
		return *q.High - *q.Low
	}
	if same, differ := width(0), width(0.5); differ < 5*same {
		t.Errorf("the interval is %.2f ms wide for equal blocks and %.2f ms for different ones", same, differ)
	}
}

func TestFiguresNearTheGeneratorAreMarked(t *testing.T) {
	f := bench(3, []int{1}, func(target, _, _ int) float64 { return []float64{1.5, 5, 1}[target] }, Target{Name: "near"}, Target{Name: "far"}, Target{Name: "null", Null: true})
	for i, want := range []bool{true, false, false} {
		for _, q := range f.Summaries[i].Ops[0].Latency.list()[:3] {
			if q.Near != want {
				t.Errorf("target %s: near is %v, want %v: %+v", f.Targets[i].Name, q.Near, want, q)
			}
		}
	}
	if len(f.Comparisons) != 4 || f.Comparisons[0].Target != 1 {
		t.Errorf("the null daemon is compared: %+v", f.Comparisons)
	}
}

func TestGrowth(t *testing.T) {
	sizes := []int{100, 1000, 10000}
	f := bench(4, sizes, func(_, size, round int) float64 { return (1 + 0.05*float64(round)) * math.Sqrt(float64(size)) }, Target{Name: "a"})
	for _, size := range sizes {
		disk := int64(7 * size)
		f.Fills = append(f.Fills, Fill{Size: size, DiskBytes: &disk, Seconds: 1})
	}
	f.Compute()
	found := 0
	for _, g := range f.Growth {
		want, has := map[string]float64{"p50": 0.5, "p99": 0.5, "disk": 1, "fill": 0}[g.Figure]
		if !has || math.Abs(g.Exponent-want) > 0.02 {
			t.Errorf("%s grows with the exponent %.3f, want %.1f", g.Figure, g.Exponent, want)
		}
		if g.Low == nil || *g.Low > g.Exponent || *g.High < g.Exponent || *g.High-*g.Low > 0.1 {
			t.Errorf("%s: the interval is %v to %v", g.Figure, *g.Low, *g.High)
		}
		found++
	}
	if found != 4 {
		t.Errorf("%d figures grow: %+v", found, f.Growth)
	}
}

func TestBaseline(t *testing.T) {
	of := func(seed uint64, target, null float64) *File {
		return bench(seed, []int{1}, func(t, _, _ int) float64 { return []float64{target, null}[t] }, Target{Name: "a"}, Target{Name: "null", Null: true})
	}
	for name, c := range map[string]struct {
		target, null   float64
		held, unjudged bool
	}{
		"the same":             {10, 1, true, false},
		"slower":               {13, 1, false, false},
		"faster":               {7, 1, true, false},
		"slower than is shown": {10.5, 1, true, false},
		"a slower machine":     {13, 1.3, false, true},
	} {
		before, now := of(1, 10, 1), of(2, c.target, c.null)
		var err error
		if now.Baseline, err = NewBaseline(before, now); err != nil {
			t.Fatal(err)
		}
		now.Compute()
		v := now.Verdicts[len(now.Verdicts)-1]
		if v.Require != "baseline" || v.Held != c.held || v.Unjudged != c.unjudged {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestSettings checks which benches do the same work.
func TestSettings(t *testing.T) {
	for want, change := range map[string]func(*File){
		"":             func(f *File) { f.Client, f.Plan.Objectives, f.Plan.Corpus = Ordinary, "p99<1s", "elsewhere" },
		"plan.top_k":   func(f *File) { f.Plan.TopK = 3 },
		"plan.stages":  func(f *File) { f.Plan.Stages = []Stage{{From: 1, To: 2}} },
		"plan.restart": func(f *File) { f.Plan.Restart = true }, // which an older file does not have
		"client":       func(f *File) { f.Client = Direct },
	} {
		before, now := &File{}, &File{}
		change(now)
		_, refused := key.Check(key.Bench, []*key.File{{Name: "a", Leaves: before.Settings()}, {Name: "b", Leaves: now.Settings()}}, nil)
		if got := refused != nil; got != (want != "") || got && !slices.Equal(refused.Differing, []string{want}) {
			t.Errorf("%q: %v", want, refused)
		}
	}
}

func TestFailOverComparesTargets(t *testing.T) {
	for slower, held := range map[float64]bool{1: true, 1.05: true, 1.3: false, 0.5: true} {
		f := bench(5, []int{1}, func(target, _, _ int) float64 { return []float64{10, 10 * slower}[target] }, Target{Name: "a"}, Target{Name: "b"})
		v := f.Verdicts[len(f.Verdicts)-1]
		if v.Require != "compare" || v.Held != held {
			t.Errorf("×%v: %+v", slower, v)
		}
	}
}

func TestObjectives(t *testing.T) {
	f := bench(6, []int{1}, func(int, int, int) float64 { return 10 }, Target{Name: "a"})
	f.Blocks[0].Ops[0].Dropped, f.Blocks[0].Ops[0].Offered = 40, 440 // of 4,040
	for text, want := range map[string]bool{
		"p99<15ms": true, "p99<5ms": false, "p50<0.011s": true, "max<13ms": true, "mean<9ms": false, "errors<1%": true, "errors<0.005": false,
		"rate>300/s": true, "rate>1000": false, "search.p90<15ms": true, "ask.p90<15ms": false, "p99.9<15ms": true, "first-delta<1s": false,
	} {
		f.Plan.Objectives = text
		f.Compute()
		if v := f.Verdicts; len(v) != 1 || v[0].Held != want || v[0].Require != text || v[0].Sentence == "" {
			t.Errorf("%s: %+v, want %v", text, v, want)
		}
	}
	f.Blocks = f.Blocks[:1]
	f.Plan.Objectives = "p99.9<1h"
	f.Compute()
	if v := f.Verdicts[0]; v.Held || !strings.Contains(v.Sentence, "not known from so few requests") {
		t.Errorf("p99.9 of 400 requests: %+v", v)
	}
	for _, bad := range []string{"", "p98<1ms", "p99>1ms", "p99<1", "p99<1parsec", "errors<1ms", "rate<5/s", "rate>5ms", "p99<", "p99<1ms,"} {
		if _, err := ParseObjectives(bad); err == nil {
			t.Errorf("the objective %q is accepted", bad)
		}
	}
}
