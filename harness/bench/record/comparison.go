package record

import (
	"cmp"
	"math"
	"slices"

	"evalctl/internal/stats"
)

// level is the adjusted p-value up to which a difference is claimed. It is below the 0.05 that two
// identical targets may be called different, because blocks of one daemon are not quite independent.
const level = 0.02

// Verdicts of a comparison.
const (
	Faster = "faster"
	Slower = "slower"
	// Alike means that no difference was shown.
	Alike = "~"
)

// Comparison is one figure of a target relative to that of a reference, over the rounds in which
// both have it.
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

// Difference is a ratio over pairs of blocks: the geometric mean, its t interval from the logarithms,
// and the p-value of the paired t test, as it is and adjusted for all figures of a target at one stage
// and size (Holm).
type Difference struct {
	Pairs    int      `json:"pairs"`
	Ratio    float64  `json:"ratio"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
	Verdict  string   `json:"verdict"`
}

// compare sets Comparisons: every target with the first that is not the null daemon.
func (f *File) compare() {
	first := slices.IndexFunc(f.Targets, func(t Target) bool { return !t.Null })
	for t := first + 1; first >= 0 && t < len(f.Targets); t++ {
		if f.Targets[t].Null {
			continue
		}
		for stage := range f.Plan.Stages {
			for _, size := range f.Plan.Sizes {
				f.comparePair(first, t, stage, size)
			}
		}
	}
}

// comparePair adds the figures of a target at a stage and size. Together they say whether it differs,
// so that their p-values are adjusted together.
func (f *File) comparePair(reference, target, stage, size int) {
	a, b := paired(f.blocks(reference, stage, size), f.blocks(target, stage, size))
	ops, first := names(slices.Concat(a, b)), len(f.Comparisons)
	for _, op := range ops {
		for _, figure := range f.comparable(op, op == ops[len(ops)-1]) {
			if d := difference(series(a, op, figure), series(b, op, figure)); d.Pairs > 0 {
				f.Comparisons = append(f.Comparisons, Comparison{
					Reference: reference, Target: target, Stage: stage, Size: size, Op: op, Figure: figure, Difference: d,
				})
			}
		}
	}
	var tested []*Difference
	for i := first; i < len(f.Comparisons); i++ {
		tested = append(tested, &f.Comparisons[i].Difference)
	}
	adjust(tested)
	for i := first; i < len(f.Comparisons); i++ {
		c := &f.Comparisons[i]
		c.Verdict = verdict(c.Difference, c.Figure == "rate")
	}
}

// comparable returns the figures of an operation that are compared. last is set for the last one,
// which is all of them: that has the rate of a closed loop, and the latency of all together would be
// that of the mix.
func (f *File) comparable(op string, last bool) (figures []string) {
	if op != All {
		figures = append(figures, "mean", "p50", "p90", "p99")
	}
	if last && f.Plan.Arrival == Closed {
		figures = append(figures, "rate")
	}
	return figures
}

// paired returns the blocks of the rounds that both have.
func paired(a, b []Block) (x, y []Block) {
	for _, p := range a {
		if i := slices.IndexFunc(b, func(q Block) bool { return q.Round == p.Round }); i >= 0 {
			x, y = append(x, p), append(y, b[i])
		}
	}
	return x, y
}

// series returns a figure of each block: NaN where it has too few requests.
func series(blocks []Block, op, figure string) []float64 {
	p := map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99}[figure]
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		o, _ := b.op(op)
		switch {
		case figure == "rate":
			out[i] = float64(o.InTime) / b.Seconds
		case figure == "mean" && o.Latency.N() > 0:
			out[i] = o.Latency.h.Mean() / 1e6
		case o.Latency.N() < int64(stats.QuantileCIMin(p, confidence)):
			out[i] = math.NaN()
		default:
			out[i] = milliseconds(o.Latency.Quantile(p))
		}
		if out[i] <= 0 {
			out[i] = math.NaN() // it has no logarithm
		}
	}
	return out
}

// difference compares the values of pairs; those with NaN do not count.
func difference(reference, target []float64) Difference {
	a, b := make([]float64, len(target)), make([]float64, len(target))
	for i := range target {
		a[i], b[i] = math.Log(target[i]), math.Log(reference[i])
	}
	m := stats.PairedMeans(a, b, confidence)
	d := Difference{Pairs: m.N}
	if m.N == 0 {
		return d
	}
	d.Ratio = math.Exp(m.Mean)
	d.Low, d.High, d.P = finite(math.Exp(m.Lo)), finite(math.Exp(m.Hi)), finite(m.P)
	return d
}

// adjust sets the adjusted p-values of differences that are claimed together.
func adjust(ds []*Difference) {
	var ps []float64
	var tested []*Difference
	for _, d := range ds {
		if d.P != nil {
			ps, tested = append(ps, *d.P), append(tested, d)
		}
	}
	for i, p := range stats.Holm(ps) {
		tested[i].Adjusted = &p
	}
}

// verdict returns what a difference shows. More is faster if the figure is a rate.
func verdict(d Difference, more bool) string {
	switch {
	case d.Adjusted == nil || *d.Adjusted > level:
		return Alike
	case d.Ratio > 1 == more:
		return Faster
	}
	return Slower
}

// worst returns the comparison with the largest shown slowdown over 1+margin, nil if there is none.
// A rate is slower by its reciprocal.
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
