package judging

import (
	"evalctl/harness/dataset"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Forecast is the likely and the maximum cost of judging.
type Forecast struct{ Likely, Worst llm.USD }

// Add adds the judgement of an answer.
func (f *Forecast) Add(p *Plan, item scorer.Item) {
	f.Likely, f.Worst = f.Likely.Plus(p.Estimate(item)), f.Worst.Plus(p.Worst(item))
}

// Left returns the forecast of a dataset's remaining judgements. item returns the item to judge for
// the i-th question of the run, counted from 0; ok is false if there is none.
func (p *Plan) Left(d dataset.Dataset, item func(i int, q dataset.Question) (judged scorer.Item, ok bool)) (left Forecast, err error) {
	i := -1
	for q, err := range d.Passes() {
		if err != nil {
			return left, err
		}
		i++
		if judged, ok := item(i, q); ok {
			left.Add(p, judged)
		}
	}
	return left, nil
}

// Times returns the forecast for judging everything n times.
func (f Forecast) Times(n int) Forecast { return Forecast{f.Likely.Times(n), f.Worst.Times(n)} }

// OpenScorer returns a scorer of a kind. The plan is nil if no model judges.
func OpenScorer(kind scorer.Kind, o scorer.Options, plan *Plan, c Client) (scorer.Scorer, error) {
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
