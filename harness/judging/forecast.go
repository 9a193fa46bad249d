package judging

import (
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Forecast is what judging is likely to cost, and what it costs at most.
type Forecast struct{ Likely, Worst llm.USD }

// Add adds the judgement of an answer.
func (f *Forecast) Add(p *Plan, item scorer.Item) {
	f.Likely, f.Worst = f.Likely.Plus(p.Estimate(item)), f.Worst.Plus(p.Worst(item))
}

// Times returns the forecast of judging everything n times.
func (f Forecast) Times(n int) Forecast { return Forecast{f.Likely.Times(n), f.Worst.Times(n)} }

// OpenScorer returns a scorer of a kind. The plan is nil if no model judges.
func OpenScorer(kind scorer.Kind, o scorer.Options, plan *Plan, c Calls) (scorer.Scorer, error) {
	if plan == nil {
		return kind.Offline(o), nil
	}
	if kind.Offline == nil {
		return plan.Open(c)
	}
	judge, err := plan.Headline(c)
	if err != nil {
		return nil, err
	}
	return kind.With(o, judge), nil
}
