package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/internal/stats"
)

// NewBaseline returns the blocks of an earlier bench to compare with. The caller has checked that
// both benches did the same work (key.Bench).
func NewBaseline(before, now *File) (*Baseline, error) {
	b := &Baseline{SHA256: before.SHA256, StartedAt: before.StartedAt, Blocks: []Block{}}
	for _, null := range []bool{false, true} {
		x, y := before.first(null), now.first(null)
		for _, block := range before.Blocks {
			if x >= 0 && y >= 0 && block.Target == x {
				block.Target = y
				b.Blocks = append(b.Blocks, block)
			}
		}
	}
	if x := now.first(false); len(now.sided(b.Blocks, x, now.Blocks, x)) == 0 {
		return nil, fmt.Errorf("%w: they have no figure of the same operation in common", key.ErrIncomparable)
	}
	return b, nil
}

// first returns the index of the first target, or of the null daemon, -1 if there is none.
func (f *File) first(null bool) int {
	return slices.IndexFunc(f.Targets, func(t Target) bool { return t.Null == null })
}

// compareBaseline compares the blocks of the bench with the baseline's, paired by round.
func (f *File) compareBaseline() {
	if f.Baseline == nil {
		return
	}
	changes := func(null bool) []Change {
		out, t := []Change{}, f.first(null)
		found := f.sided(f.Baseline.Blocks, t, f.Blocks, t)
		times := 1.0
		for _, s := range found {
			times = max(times, inflation(s.logs(), 0))
		}
		for i, d := range differences(found, 1) {
			d.inOrder(found[i], times)
			out = append(out, Change{found[i], d})
		}
		return out
	}
	f.Baseline.Series, f.Baseline.Null = changes(false), changes(true)
}

// inOrder widens a difference to the result for consecutive values, whose variance is inflated by
// times. The order of two benches was not randomized: a slowdown of several rounds in a row may
// affect only one of them.
func (d *Difference) inOrder(s Series, times float64) {
	logs := s.logs()
	mean, variance := stats.Moments(logs)
	if variance == 0 {
		return // all are the same, which a test of signs judges alone
	}
	reach, p := math.Inf(1), 1.0
	if e := regression(logs, times); e.freedom > 1 {
		reach, p = e.reach(), e.p(mean)
	}
	d.P, d.Adjusted = max(d.P, p), max(d.Adjusted, p)
	if d.Low != nil {
		d.Low = finite(math.Exp(min(math.Log(*d.Low), mean-reach)))
	}
	if d.High != nil {
		d.High = finite(math.Exp(max(math.Log(*d.High), mean+reach)))
	}
	d.Verdict = verdict(*d, s.Figure == "rate")
}

// Settings returns the plan and the client under their JSON keys, such as plan.top_k. The mix has
// the operations that were sent.
func (f *File) Settings() map[string]string {
	plan := f.Plan
	plan.Mix = f.sent()
	return key.Leaves(struct {
		Plan   Plan   `json:"plan"`
		Client string `json:"client"`
	}{plan, cmp.Or(f.Client, Ordinary)})
}

// sent returns the part of the mix that no target lacks.
func (f *File) sent() []Share {
	return slices.DeleteFunc(slices.Clone(f.Plan.Mix), func(s Share) bool {
		return slices.ContainsFunc(f.Targets, func(t Target) bool {
			return slices.ContainsFunc(t.Lacks, func(why string) bool { return strings.HasPrefix(why, s.Op+":") })
		})
	})
}

// judgeBaseline requires that no figure is shown to be slower than the baseline by more than
// allowed. If the null daemon is slower by that much, the machine differs and nothing is judged.
func (f *File) judgeBaseline() {
	if f.Baseline == nil {
		return
	}
	slow := func(changes []Change) (worst Change) {
		for _, c := range changes {
			if c.Figure == "rate" {
				c.Ratio = 1 / c.Ratio
			}
			if c.Verdict == Slower && c.Ratio > 1+f.Plan.FailOver && c.Ratio > worst.Ratio {
				worst = c
			}
		}
		return worst
	}
	v := Verdict{Require: "baseline", Held: true, Sentence: "nothing was shown to be slower than the baseline by more than allowed"}
	null, own := slow(f.Baseline.Null), slow(f.Baseline.Series)
	switch {
	case own.Ratio == 0:
	case null.Ratio > 0:
		v.Held, v.Unjudged = false, true
		v.Op, v.Value = null.Op, finite(null.Ratio)
		v.Sentence = fmt.Sprintf("not judged: the null daemon is slower too, %s %s ×%.2f, so the machine is not what it was; "+
			"measure both versions in one command", null.Op, null.Figure, null.Ratio)
	default:
		v.Held = false
		v.Op, v.Value = own.Op, finite(own.Ratio)
		v.Sentence = fmt.Sprintf("slower than the baseline: %s %s ×%.2f, and ×%.2f is allowed", own.Op, own.Figure, own.Ratio, 1+f.Plan.FailOver)
	}
	f.Verdicts = append(f.Verdicts, v)
}
