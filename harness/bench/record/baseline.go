package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Differences returns how much benches differ in each of their series.
func Differences(series []Series) []Difference {
	out := make([]Difference, len(series))
	tested := make([]*Difference, len(series))
	for i, s := range series {
		n := min(len(s.Before), len(s.Now))
		out[i] = difference(s.Before[:n], s.Now[:n])
		tested[i] = &out[i]
	}
	adjust(tested)
	for i := range out {
		out[i].Verdict = verdict(out[i], series[i].Figure == "rate")
	}
	return out
}

// NewBaseline pairs the blocks of a bench with those of an earlier one, by round. Benches with
// different plans are not comparable: the error says what differs.
func NewBaseline(before, now *File) (*Baseline, error) {
	if err := before.Plan.Same(now.Plan); err != nil {
		return nil, err
	}
	b := &Baseline{StartedAt: before.StartedAt, Series: pairs(before, now, false), Null: pairs(before, now, true)}
	if len(b.Series) == 0 {
		return nil, fmt.Errorf("the benches have no figure of the same operation in common")
	}
	return b, nil
}

// Same returns an error unless both plans are the same work.
func (p Plan) Same(other Plan) error {
	// What is required of the figures, and what only says where data came from, is no part of the work.
	work := func(p Plan) (keys map[string]json.RawMessage, err error) {
		p.Objectives, p.Search, p.FailOver, p.Corpus, p.Queries = "", "", 0, "", ""
		data, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		err = json.Unmarshal(data, &keys)
		return keys, err
	}
	before, err := work(p)
	if err != nil {
		return err
	}
	now, err := work(other)
	if err != nil {
		return err
	}
	keys := maps.Clone(before)
	maps.Copy(keys, now)
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if b, n := before[key], now[key]; !bytes.Equal(b, n) {
			differ = append(differ, fmt.Sprintf("%s was %s and is %s", key, cmp.Or(string(b), "none"), cmp.Or(string(n), "none")))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("the benches did different work: %s; use the same flags", strings.Join(differ, ", "))
	}
	return nil
}

// pairs returns the figures of the first target, or of the null daemon, of both benches.
func pairs(before, now *File, null bool) []Series {
	pick := func(f *File) int {
		return slices.IndexFunc(f.Targets, func(t Target) bool { return t.Null == null })
	}
	x, y := pick(before), pick(now)
	out := []Series{}
	if x < 0 || y < 0 {
		return out
	}
	for stage := range now.Plan.Stages {
		for _, size := range now.Plan.Sizes {
			a, b := paired(before.blocks(x, stage, size), now.blocks(y, stage, size))
			ops := names(slices.Concat(a, b))
			for _, op := range ops {
				for _, figure := range now.comparable(op, op == ops[len(ops)-1]) {
					s := Series{Op: op, Figure: figure}
					s.add(series(a, op, figure), series(b, op, figure))
					if len(s.Now) > 1 {
						out = append(out, s)
					}
				}
			}
		}
	}
	return out
}

// add adds the pairs of which both values are known.
func (s *Series) add(before, now []float64) {
	for i := range before {
		if finite(before[i]) != nil && finite(now[i]) != nil {
			s.Before, s.Now = append(s.Before, before[i]), append(s.Now, now[i])
		}
	}
}

// judgeBaseline requires that no figure is shown to be slower than that of the baseline by more than
// is allowed. If the null daemon is, the machine differs and nothing is judged.
func (f *File) judgeBaseline() {
	if f.Baseline == nil {
		return
	}
	slow := func(series []Series) (worst Difference, of Series) {
		for i, d := range Differences(series) {
			if series[i].Figure == "rate" {
				d.Ratio = 1 / d.Ratio
			}
			if d.Verdict == Slower && d.Ratio > 1+f.Plan.FailOver && d.Ratio > worst.Ratio {
				worst, of = d, series[i]
			}
		}
		return worst, of
	}
	v := Verdict{Require: "baseline", Held: true, Sentence: "nothing was shown to be slower than the baseline by more than allowed"}
	machine, null := slow(f.Baseline.Null)
	d, of := slow(f.Baseline.Series)
	switch {
	case d.Ratio == 0:
	case machine.Ratio > 0:
		v.Held, v.Unjudged = false, true
		v.Op, v.Value = null.Op, finite(machine.Ratio)
		v.Sentence = fmt.Sprintf("not judged: the null daemon is slower too, %s %s ×%.2f, so the machine is not what it was; "+
			"measure both versions in one command", null.Op, null.Figure, machine.Ratio)
	default:
		v.Held = false
		v.Op, v.Value = of.Op, finite(d.Ratio)
		v.Sentence = fmt.Sprintf("slower than the baseline: %s %s ×%.2f, and ×%.2f is allowed", of.Op, of.Figure, d.Ratio, 1+f.Plan.FailOver)
	}
	f.Verdicts = append(f.Verdicts, v)
}
