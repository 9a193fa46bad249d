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

// Blocks that differ have a wide interval, although all their requests together say the same. Too few
// blocks have none.
func TestIntervalsComeFromBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	times := func(blocks int, differ float64) *Times {
		hs := make([]*Histogram, blocks)
		for i := range hs {
			hs[i] = blockOf(0, 1, 0, around(random, 10*(1+differ*random.Float64()), 400)...).Ops[0].Latency
		}
		return timesOf(hs, make([]int64, blocks))
	}
	width := func(differ float64) float64 {
		q := times(fewestOfQuantile, differ).P90
		return *q.High - *q.Low
	}
	if same, differ := width(0), width(0.5); differ < 5*same {
		t.Errorf("the interval is %.2f ms wide for equal blocks and %.2f ms for different ones", same, differ)
	}
	if few, some := times(fewestOfQuantile-1, 0.5), times(fewestOfQuantile, 0.5); few.P50.Low != nil || some.P50.Low == nil || some.P99.Low == nil {
		t.Errorf("%d blocks: p50 %+v; %d: p50 %+v, p99 %+v", fewestOfQuantile-1, few.P50, fewestOfQuantile, some.P50, some.P99)
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
		"plan.mix":     func(f *File) { f.Targets[0].Lacks = []string{"ask: it has no model"} },
	} {
		of := func() *File {
			return &File{Plan: Plan{Mix: []Share{{"search", 1}, {"ask", 1}}}, Targets: make([]Target, 2)}
		}
		before, now := of(), of()
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
		"p99<15ms": true, "p99<5ms": false, "p50<0.011s": true, "max<13ms": false, "mean<9ms": false, "mean<11ms": true, "errors<1%": true, "errors<0.005": false,
		"rate>300/s": true, "rate>1000": false, "search.p90<15ms": true, "ask.p90<15ms": false, "p99.9<15ms": false, "first-delta<1s": false,
	} {
		f.Plan.Objectives = text
		f.Compute()
		if v := f.Verdicts; v[0].Held != want || v[0].Require != text || v[0].Sentence == "" {
			t.Errorf("%s: %+v, want %v", text, v, want)
		}
	}
	// The null daemon has to keep objectives if it is the target.
	f.Targets[0].Null, f.Plan.Objectives = true, "p99<5ms"
	if f.Compute(); len(f.Verdicts) != 2 || f.Verdicts[0].Held {
		t.Errorf("the null daemon alone: %+v", f.Verdicts)
	}
	f.Targets = append(f.Targets, Target{Name: "b"})
	if f.Compute(); len(f.Verdicts) != 0 {
		t.Errorf("the null daemon beside a target: %+v", f.Verdicts)
	}
	f.Targets = []Target{{Name: "a"}}
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

func TestNeed(t *testing.T) {
	search := []Share{{"search", 80}}
	mix := append(search, Share{"ask", 15}, Share{"put", 5})
	for _, c := range []struct {
		objectives string
		mix        []Share
		poisson    bool
		want       float64
	}{
		{"errors<1%,rate>5,max<1s", mix, true, 0},
		{"p50<1s", search, false, 6},
		{"p99<1s,p50<1s", search, false, 299},
		{"p99<1s", search, true, 299 + 8 + 4*math.Sqrt(303)},
		{"p99<1s", mix, false, (299 + 8 + 4*math.Sqrt(303)) / 0.05},
		{"search.p99<1s", mix, false, (299 + 8 + 4*math.Sqrt(303)) / 0.8},
		{"first-delta<1s", mix, false, (299 + 8 + 4*math.Sqrt(303)) / 0.15},
		{"all.p99<1s", mix, false, 299},
		{"ask.p99<1s", search, false, math.Inf(1)},
	} {
		objectives, _ := ParseObjectives(c.objectives)
		if n := Need(objectives, c.mix, c.poisson); n != c.want && math.Abs(n-c.want) > 1e-6 {
			t.Errorf("%s of %v: %v, want %v", c.objectives, c.mix, n, c.want)
		}
	}
}

// TestErrorsAreSlow has 400 requests of 10 ms and others that did not succeed, in each of ten blocks.
func TestErrorsAreSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for _, c := range []struct {
		objectives      string
		failed, dropped int64
		held            []bool // of the objectives and of the share of errors that nobody named
		says            string
	}{
		{"p90<500ms", 0, 0, []bool{true, true}, "errors is 0 % (allowed: errors<1%, unless an objective says another share)"},
		{"p90<500ms", 3, 0, []bool{true, true}, "errors is 0.744 %"},
		{"p90<500ms", 20, 0, []bool{true, false}, "errors is 4.76 %"},
		{"p90<500ms", 225, 0, []bool{false, false}, "p90 is not known: 36 % of the requests failed, which count as slower than any (required: p90<500ms)"},
		{"p90<500ms", 0, 225, []bool{false, false}, "p90 is not known: 36 %"},
		{"p90<500ms,errors<50%", 225, 0, []bool{false, true}, "p90 is not known"},
		{"p50<500ms,errors<50%", 225, 0, []bool{true, true}, "p50 is 1"},
		{"p99<500ms,errors<5%", 20, 0, []bool{false, true}, "p99 is not known"},
		{"max<500ms", 1, 0, []bool{false, true}, "max is not known: 0.249 %"},
		{"mean<500ms,errors<50%", 225, 0, []bool{false, true}, "mean is not known"},
		{"search.errors<5%", 20, 0, []bool{true}, "errors is 4.76 %"},
		{"put.errors<5%,rate>1/s", 20, 0, []bool{false, true, false}, "is about nothing that was measured"},
	} {
		f := bench(7, []int{1}, func(int, int, int) float64 { return 10 }, Target{Name: "a"})
		for i := range f.Blocks {
			o := &f.Blocks[i].Ops[0]
			o.Errors, o.Dropped, o.Offered = map[string]int64{"status 500": c.failed}, c.dropped, 400+c.failed+c.dropped
		}
		f.Plan.Objectives = c.objectives
		f.Compute()
		var held []bool
		said := ""
		for _, v := range f.Verdicts {
			held, said = append(held, v.Held), said+v.Sentence+"\n"
		}
		if !slices.Equal(held, c.held) || !strings.Contains(said, c.says) {
			t.Errorf("%s with %d failed and %d dropped: %v\n%s", c.objectives, c.failed, c.dropped, held, said)
		}
		objectives, _ := ParseObjectives(c.objectives)
		if kept := Keeps(objectives, f.Blocks[0]); kept == slices.Contains(held, false) {
			t.Errorf("%s with %d failed and %d dropped: a search keeps it: %v", c.objectives, c.failed, c.dropped, kept)
		}
	}
}

// TestErrorsAreSlowInComparisons has a target that fails what is slow: its other requests are as fast
// as those of the first.
func TestErrorsAreSlowInComparisons(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for _, c := range []struct {
		failed  int64 // of 400 more requests
		slower  []string
		compare bool
	}{{0, nil, true}, {20, []string{"mean", "p50", "p90", "p99"}, false}, {225, []string{"mean", "p50", "p90", "p99"}, false}} {
		of := func(failed int64) *File {
			f := bench(8, []int{1}, func(int, int, int) float64 { return 10 }, Target{Name: "a"}, Target{Name: "b"})
			f.Plan.TimeoutSeconds = 30
			for i := range f.Blocks {
				if o := &f.Blocks[i].Ops[0]; f.Blocks[i].Target == 1 {
					o.Errors, o.Offered = map[string]int64{"timeout": failed}, 400+failed
				}
			}
			f.Compute()
			return f
		}
		f := of(c.failed)
		var slower []string
		for _, d := range f.Comparisons {
			if d.Verdict == Slower {
				slower = append(slower, d.Figure)
			}
		}
		if v := f.Verdicts[len(f.Verdicts)-1]; !slices.Equal(slower, c.slower) || v.Held != c.compare {
			t.Errorf("%d failed: slower in %v, %+v", c.failed, slower, v)
		}
		// A bench of the second target, compared with itself before it failed.
		alone := func(failed int64) *File {
			f := of(failed)
			f.Blocks = slices.DeleteFunc(f.Blocks, func(b Block) bool { return b.Target == 0 })
			for i := range f.Blocks {
				f.Blocks[i].Target = 0
			}
			f.Targets = f.Targets[1:]
			return f
		}
		before, now := alone(0), alone(c.failed)
		var err error
		if now.Baseline, err = NewBaseline(before, now); err != nil {
			t.Fatal(err)
		}
		now.Compute()
		if v := now.Verdicts[len(now.Verdicts)-1]; v.Held != c.compare {
			t.Errorf("%d failed, compared with a baseline: %+v", c.failed, v)
		}
	}
}
