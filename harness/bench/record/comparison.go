package record

import (
	"cmp"
	"math"
	"slices"

	"evalctl/internal/stats"
)

// level is the probability that a bench of equal targets reports any difference between them. It is
// low because a false report can fail a build, and a bench that gates every change runs hundreds of
// times.
const level = 0.02

// flips is the number of random assignments of signs.
const flips = 9999

// FewestRounds returns the minimum number of rounds at which a difference between this many targets
// can be shown. With n rounds, the smallest p-value of a sign-flip test is 2/2ⁿ.
func (p Plan) FewestRounds(targets int) int {
	tests := float64(max(1, targets-1) * len(p.Stages) * len(p.Sizes))
	return int(math.Ceil(math.Log2(2 * tests / level)))
}

// Verdicts of a comparison.
const (
	Faster = "faster"
	Slower = "slower"
	// Alike means that no difference was shown.
	Alike = "~"
)

// Comparison compares one figure of a target with a reference target, over the rounds in which both
// have it.
type Comparison struct {
	Reference int    `json:"reference"`
	Target    int    `json:"target"`
	Stage     int    `json:"stage"`
	Size      int    `json:"size"`
	Op        string `json:"op"`
	// Figure is mean, p50, p90 or p99 of the latency of a block or, in a closed loop, rate.
	Figure string `json:"figure"`
	Difference
}

// Difference is a ratio over pairs of blocks: the geometric mean, with the interval and p-value of
// the sign-flip test on the logarithms (stats.FlipClusters). Adjusted is adjusted for all figures
// of the bench (stats.FlipFamily).
type Difference struct {
	Pairs    int      `json:"pairs"`
	Ratio    float64  `json:"ratio"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	P        float64  `json:"p"`
	Adjusted float64  `json:"p_adjusted"`
	Verdict  string   `json:"verdict"`
}

// compare sets Comparisons: each target against the first one that is not the null daemon.
func (f *File) compare() {
	first := slices.IndexFunc(f.Targets, func(t Target) bool { return !t.Null })
	var others []int
	for t := first + 1; first >= 0 && t < len(f.Targets); t++ {
		if !f.Targets[t].Null {
			others = append(others, t)
		}
	}
	for _, t := range others {
		found := f.sided(f.Blocks, first, f.Blocks, t)
		for i, d := range differences(found, len(others)) {
			s := found[i]
			f.Comparisons = append(f.Comparisons, Comparison{
				Reference: first, Target: t, Stage: s.Stage, Size: s.Size, Op: s.Op, Figure: s.Figure, Difference: d,
			})
		}
	}
}

// sided returns the figures of target x in before and of target y in now, for each stage and size
// of the plan, over the rounds in which both are known.
func (f *File) sided(before []Block, x int, now []Block, y int) []Series {
	out := []Series{}
	for stage := range f.Plan.Stages {
		for _, size := range f.Plan.Sizes {
			a, b := paired(blocksOf(before, x, stage, size), blocksOf(now, y, stage, size))
			ops := names(slices.Concat(a, b))
			longest := f.longest(slices.Concat(a, b))
			for _, op := range ops {
				for _, figure := range f.comparable(op, op == ops[len(ops)-1]) {
					s := Series{Stage: stage, Size: size, Op: op, Figure: figure}
					for i, v := range series(a, op, figure, longest) {
						if w := series(b[i:i+1], op, figure, longest)[0]; finite(v) != nil && finite(w) != nil && finite(math.Log(w/v)) != nil {
							s.Rounds, s.Before, s.Now = append(s.Rounds, a[i].Round), append(s.Before, v), append(s.Now, w)
						}
					}
					if len(s.Now) > 0 {
						out = append(out, s)
					}
				}
			}
		}
	}
	return out
}

// differences tests how much the sides of each series differ. The p-values are adjusted together,
// and for the number of families.
func differences(found []Series, families int) []Difference {
	type pair struct{ stage, size, round int }
	units := map[pair]int{}
	out, tests := make([]Difference, len(found)), make([]stats.Flips, len(found))
	for i, s := range found {
		logs, own := s.logs(), make([]int, len(s.Now))
		for j := range s.Now {
			p := pair{s.Stage, s.Size, s.Rounds[j]}
			if _, ok := units[p]; !ok {
				units[p] = len(units)
			}
			own[j] = units[p]
		}
		tests[i] = stats.Flips{Values: logs, Units: own}
		out[i] = difference(tests[i])
	}
	for i, p := range stats.FlipFamily(tests, flips, seed) {
		out[i].Adjusted = min(1, float64(families)*max(p, out[i].P))
		out[i].Verdict = verdict(out[i], found[i].Figure == "rate")
	}
	return out
}

// logs returns the logarithms of the ratios Now to Before.
func (s Series) logs() []float64 {
	logs := make([]float64, len(s.Now))
	for i := range logs {
		logs[i] = math.Log(s.Now[i] / s.Before[i])
	}
	return logs
}

// difference tests one figure by itself.
func difference(t stats.Flips) Difference {
	test := stats.FlipClusters(t.Values, t.Units, flips, seed)
	lo, hi := test.Interval(confidence)
	return Difference{
		Pairs: len(t.Values), Ratio: math.Exp(test.Mean), Low: finite(math.Exp(lo)), High: finite(math.Exp(hi)), P: test.P(0),
	}
}

// comparable returns the figures of an operation that are compared. last is set for the last
// operation, which sums up all others if there are several. It has the rate of a closed loop, but
// no latency of its own: a latency over all operations would depend on the mix.
func (f *File) comparable(op string, last bool) (figures []string) {
	if op != All {
		figures = append(figures, "mean", "p50", "p90", "p99")
	}
	if last && f.Plan.Arrival == Closed {
		figures = append(figures, "rate")
	}
	return figures
}

// paired returns the blocks of a and b for the rounds that both have.
func paired(a, b []Block) (x, y []Block) {
	for _, p := range a {
		if i := slices.IndexFunc(b, func(q Block) bool { return q.Round == p.Round }); i >= 0 {
			x, y = append(x, p), append(y, b[i])
		}
	}
	return x, y
}

// longest returns the time in milliseconds that failed requests count as when blocks are compared.
// It is at least the timeout and the slowest request of any block.
func (f *File) longest(blocks []Block) float64 {
	ms := 1000 * f.Plan.TimeoutSeconds
	for _, b := range blocks {
		ms = max(ms, milliseconds(int64(Slowest(b))))
	}
	return ms
}

// series returns a figure of each block, NaN for a block with too few requests. Failed requests
// count as longest.
func series(blocks []Block, op, figure string, longest float64) []float64 {
	p := map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99}[figure]
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		o, _ := b.op(op)
		all := o.Latency.N() + o.lost()
		switch {
		case figure == "rate":
			n, seconds := b.done(o)
			out[i] = n / seconds
		case figure == "mean" && all > 0:
			out[i] = (o.Latency.sum() + float64(o.lost())*longest) / float64(all)
		case all < int64(stats.QuantileCIMin(p, confidence)):
			out[i] = math.NaN()
		default:
			if out[i] = inMilliseconds(o.Latency.among(p, all)); math.IsInf(out[i], 1) {
				out[i] = longest
			}
		}
		if out[i] <= 0 {
			out[i] = math.NaN() // zero has no logarithm
		}
	}
	return out
}

// verdict returns the verdict on a difference. more is set if a larger value is faster, as for a
// rate.
func verdict(d Difference, more bool) string {
	switch {
	case d.Adjusted > level:
		return Alike
	case d.Ratio > 1 == more:
		return Faster
	}
	return Slower
}

// worst returns the comparison with the largest shown slowdown over 1+margin, nil if there is none.
// The slowdown of a rate is its reciprocal.
func (f *File) worst(margin float64) *Comparison {
	var worst *Comparison
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		if c.Verdict == Slower && c.slowdown() > 1+margin && (worst == nil || cmp.Compare(c.slowdown(), worst.slowdown()) > 0) {
			worst = c
		}
	}
	return worst
}

func (c Comparison) slowdown() float64 {
	if c.Figure == "rate" {
		return 1 / c.Ratio
	}
	return c.Ratio
}
