package compare

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// MemoryEffect compares a run that has a memory with a baseline that has none.
type MemoryEffect struct {
	// Run and Reference are indexes of Comparison.Runs: that of the memory, and that of the baseline.
	Run       int             `json:"run"`
	Reference int             `json:"reference"`
	Baseline  result.Scenario `json:"baseline"`
	// Context is how much the baseline full-context gave to its model, nil for others.
	Context *result.ContextUse `json:"context,omitempty"`
	// Difference is what memory adds: its pass rate less that of the baseline. For the oracle it is
	// what memory leaves: the pass rate of the oracle less that of the memory. It is nil if no question
	// has a verdict in both. Verdict is Better for a difference above 0.
	Difference *float64         `json:"difference"`
	Interval   *result.Interval `json:"interval"`
	Verdict    Verdict          `json:"verdict"`
	// N, Clusters and the p-values are those of the pair.
	N        int      `json:"n"`
	Clusters int      `json:"clusters,omitempty"`
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
}

// baselineOf returns which baseline a run is, empty for one with a memory. known is false for a run
// that does not record it.
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

// memoryEffects returns what the pairs say about memories and baselines, in the order of
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

// effectOf returns the effect of a pair. same is set if its difference is that of the pair, and not
// the opposite.
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

// given returns the effect with what its baseline gave to the model.
func (e MemoryEffect) given(runs []*Run) MemoryEffect {
	if res := runs[e.Reference].files()[0].res; res != nil && res.Replay != nil {
		e.Context = res.Replay.Context
	}
	return e
}

// name says what the difference is.
func (e *MemoryEffect) name() string {
	if c := e.Context; c != nil && c.LeftOut > 0 {
		return fmt.Sprintf("What memory adds over %s (%d of %s left out)", c.Name(), c.LeftOut, figure.Count(c.Sessions, "session"))
	}
	return effectNames[e.Baseline]
}

// effectNames are what the difference to a baseline says.
var effectNames = map[result.Scenario]string{
	result.NoMemory:      "What memory adds over no memory",
	result.RandomSession: "What memory adds over sessions drawn at random",
	result.FullContext:   "What memory adds over the whole context",
	result.Oracle:        "What is left to the oracle",
}

// effectWords are what a test says about a difference.
var effectWords = map[Verdict]string{
	Better: "shown to be above 0", Worse: "shown to be below 0", NotSeen: "not shown to differ from 0", NotJudged: "not judged",
}

// MemorySentences say what memory adds over baselines, and what is left to the oracle: one sentence
// for each baseline, about all runs that have a memory.
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

// aboutMemory reports whether MemorySentences has a pair.
func (c *Comparison) aboutMemory(p *Pair) bool {
	for _, e := range c.Memory {
		if e.Run == p.Run && e.Reference == p.Reference || e.Run == p.Reference && e.Reference == p.Run {
			return true
		}
	}
	return false
}

// Headlined reports whether the pair is tested, and counts in a headline. One of two baselines says
// nothing about a memory, if some run has one.
func (c *Comparison) Headlined(p *Pair) bool {
	memory := func(r RunFigures) bool { return r.WithoutMemory == "" }
	return memory(c.Runs[p.Run]) || memory(c.Runs[p.Reference]) || !slices.ContainsFunc(c.Runs, memory)
}
