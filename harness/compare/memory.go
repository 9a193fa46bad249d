package compare

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// MemoryEffect compares a run that has a memory with a baseline without one.
type MemoryEffect struct {
	// Run (the memory) and Reference (the baseline) are indexes of Comparison.Runs.
	Run       int             `json:"run"`
	Reference int             `json:"reference"`
	Baseline  result.Scenario `json:"baseline"`
	// Context is how much of the context a full-context baseline gave to its model, nil for others.
	Context *result.ContextUse `json:"context,omitempty"`
	// Difference is the pass rate of the memory minus the baseline's. For the oracle it is the pass
	// rate of the oracle minus the memory's. It is nil if no question has a verdict in both.
	// Verdict is Better for a difference above 0.
	Difference *float64         `json:"difference"`
	Interval   *result.Interval `json:"interval"`
	Verdict    Verdict          `json:"verdict"`
	// N, Clusters and the p-values are the pair's.
	N        int      `json:"n"`
	Clusters int      `json:"clusters,omitempty"`
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
}

// baselineOf returns which baseline a run is, empty for a run with a memory. known is false if the
// run does not record it.
func (r *Run) baselineOf() (s result.Scenario, known bool) {
	res := r.files()[0].res
	if res == nil || res.Identity.Scenario == result.ImportedAnswers {
		return "", false
	}
	if s = res.Identity.Scenario; !s.Baseline() {
		s = ""
	}
	return s, true
}

// memoryEffects returns the effects of all pairs of a memory and a baseline, in the order of
// result.Baselines.
func (c *Comparison) memoryEffects(runs []*Run) []MemoryEffect {
	out := []MemoryEffect{}
	for _, baseline := range result.Baselines {
		for i := range c.Pairs {
			p := &c.Pairs[i]
			of, known := runs[p.Run].baselineOf()
			reference, alsoKnown := runs[p.Reference].baselineOf()
			switch {
			case !known || !alsoKnown:
			case of == "" && reference == baseline:
				out = append(out, effectOf(p, p.Run, p.Reference, baseline, baseline != result.Oracle).given(runs))
			case of == baseline && reference == "":
				out = append(out, effectOf(p, p.Reference, p.Run, baseline, baseline == result.Oracle).given(runs))
			}
		}
	}
	return out
}

// effectOf returns the effect of a pair. If same is false, its sign is reversed.
func effectOf(p *Pair, run, reference int, baseline result.Scenario, same bool) MemoryEffect {
	e := MemoryEffect{
		Run: run, Reference: reference, Baseline: baseline, Difference: p.Difference, Interval: p.Interval,
		Verdict: p.Verdict, N: p.N, Clusters: p.Clusters, P: p.P, Adjusted: p.Adjusted,
	}
	if same {
		return e
	}
	e.Verdict = map[Verdict]Verdict{Better: Worse, Worse: Better}[p.Verdict]
	if e.Verdict == "" {
		e.Verdict = p.Verdict
	}
	if p.Difference != nil {
		e.Difference = known(0 - *p.Difference) // and not -0
	}
	if i := p.Interval; i != nil {
		opposite := *i
		opposite.Low, opposite.High = 0-i.High, 0-i.Low
		e.Interval = &opposite
	}
	return e
}

// given returns the effect with the baseline's Context.
func (e MemoryEffect) given(runs []*Run) MemoryEffect {
	if res := runs[e.Reference].files()[0].res; res != nil && res.Replay != nil {
		e.Context = res.Replay.Context
	}
	return e
}

// name describes the difference.
func (e *MemoryEffect) name() string {
	if c := e.Context; c != nil && c.LeftOut > 0 {
		return fmt.Sprintf("What memory adds over %s (%d of %s left out)", wording.ContextName(c), c.LeftOut, figure.Count(c.Sessions, "session"))
	}
	return effectNames[e.Baseline]
}

// effectNames describe the difference to each baseline.
var effectNames = map[result.Scenario]string{
	result.NoMemory:      "What memory adds over no memory",
	result.RandomSession: "What memory adds over sessions drawn at random",
	result.FullContext:   "What memory adds over the whole context",
	result.Oracle:        "What is left to the oracle",
}

// effectWords phrase the verdict on a difference.
var effectWords = map[Verdict]string{
	Better: "shown to be above 0", Worse: "shown to be below 0", NotSeen: "not shown to differ from 0", NotJudged: "not judged",
}

// MemorySentences say what memory adds over each baseline, or falls short of the oracle. Each
// sentence is about one baseline and all runs that have a memory.
func (c *Comparison) MemorySentences() []string {
	var out []string
	for _, baseline := range result.Baselines {
		var parts []string
		name := effectNames[baseline]
		for _, e := range c.Memory {
			if e.Baseline != baseline {
				continue
			}
			text := "no question has a verdict in both"
			if e.Difference != nil {
				text = figures(figure.Points(*e.Difference)+" pp", e.Interval, figure.Points, e.Adjusted) +
					fmt.Sprintf(" over %s, over %s, %s", figure.Count(c.Tests, "test"), figure.Count(e.N, "question"), effectWords[e.Verdict])
			}
			name = e.name()
			parts = append(parts, c.Runs[e.Run].Name+" "+text)
		}
		if len(parts) > 0 {
			out = append(out, fmt.Sprintf("%s: %s.", name, strings.Join(parts, "; ")))
		}
	}
	return out
}

// aboutMemory reports whether MemorySentences covers a pair.
func (c *Comparison) aboutMemory(p *Pair) bool {
	for _, e := range c.Memory {
		if e.Run == p.Run && e.Reference == p.Reference || e.Run == p.Reference && e.Reference == p.Run {
			return true
		}
	}
	return false
}

// Headlined reports whether the pair is tested and counts in a headline. A pair of two baselines
// does not count if some run has a memory.
func (c *Comparison) Headlined(p *Pair) bool {
	memory := func(r RunFigures) bool { return r.WithoutMemory == "" }
	return memory(c.Runs[p.Run]) || memory(c.Runs[p.Reference]) || !slices.ContainsFunc(c.Runs, memory)
}
