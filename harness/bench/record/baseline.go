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

// NewBaseline returns the blocks of an earlier bench with which one is compared. Benches with
// different plans are not comparable: the error says what differs.
func NewBaseline(before, now *File) (*Baseline, error) {
	if err := before.Plan.Same(now.Plan); err != nil {
		return nil, err
	}
	if before.Client != now.Client {
		return nil, fmt.Errorf("the benches sent requests by other means: %q and %q", before.Client, now.Client)
	}
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
		return nil, fmt.Errorf("the benches have no figure of the same operation in common")
	}
	return b, nil
}

// first returns the index of the first target, or of the null daemon, -1 if there is none.
func (f *File) first(null bool) int {
	return slices.IndexFunc(f.Targets, func(t Target) bool { return t.Null == null })
}

// compareBaseline pairs the blocks of the baseline with those of the bench, by round.
func (f *File) compareBaseline() {
	if f.Baseline == nil {
		return
	}
	changes := func(null bool) []Change {
		out, t := []Change{}, f.first(null)
		found := f.sided(f.Baseline.Blocks, t, f.Blocks, t)
		for i, d := range differences(found, 1) {
			out = append(out, Change{found[i], d})
		}
		return out
	}
	f.Baseline.Series, f.Baseline.Null = changes(false), changes(true)
}

// work returns what is done by the plan: not what is required of the figures, nor what only says
// where data came from.
func (p Plan) work() (keys map[string]json.RawMessage) {
	p.Objectives, p.Search, p.FailOver, p.Corpus, p.Queries = "", "", 0, "", ""
	data, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil {
		panic(err) // a plan has nothing that JSON does not have
	}
	return keys
}

// Work returns a text that is equal for plans that do the same work.
func (p Plan) Work() string {
	keys := p.work()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(&b, "%s=%s\n", k, keys[k])
	}
	return b.String()
}

// Same returns an error unless both plans are the same work.
func (p Plan) Same(other Plan) error {
	before, now := p.work(), other.work()
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

// judgeBaseline requires that no figure is shown to be slower than that of the baseline by more than
// is allowed. If the null daemon is, the machine differs and nothing is judged.
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
