package replay

import (
	"fmt"
	"slices"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// needsJudge reports whether a model judges any answer.
func (p *Plan) needsJudge() bool {
	return slices.ContainsFunc(p.Questions, func(q source.Question) bool { return p.Scorer.Asks(q.Dataset().Item()) > 0 })
}

func (p *Plan) openJudge() (err error) {
	if !p.needsJudge() {
		p.Judge = nil
		return nil
	}
	if p.judge, err = llm.Open(*p.Judge); err != nil {
		return fmt.Errorf("--judge: %w", err)
	}
	p.models = append(p.models, llm.Config{Provider: p.judge.Name(), Model: p.Judge.Model})
	if err := p.openPanel(); err != nil {
		return err
	}
	c := judging.Config{
		Provider: p.judge, Model: p.Judge.Model, BaseURL: llm.RecordedURL(*p.Judge), ByType: p.Prompts, Prices: p.Prices,
		Capped: p.Cap != nil, Options: p.Options,
	}
	if p.Prompts == nil {
		c.Prompts, c.Judged = p.Scorer.Prompts(), p.Scorer.Judged
	}
	if p.judgePlan, err = p.newJudgePlan(c); err != nil {
		return fmt.Errorf("--judge: %w", err)
	}
	return nil
}

// openScorer returns the scorer. If a model judges, c makes its calls.
func (p *Plan) openScorer(c judging.Client) (scorer.Scorer, error) {
	return judging.OpenScorer(p.Scorer, scorer.Options{TopK: p.TopK, Evidence: p.evidence(), ExactCase: p.ExactCase != nil && *p.ExactCase}, p.judgePlan, c)
}

// evidence reports whether retrieval is scored by evidence. All arms with a daemon share one
// scenario.
func (p *Plan) evidence() bool {
	whole := func(a Arm) bool { return p.scenario(a).ScoresEvidence(false) }
	return !slices.ContainsFunc(p.Arms, func(a Arm) bool { return !whole(a) }) && slices.ContainsFunc(p.Questions, func(q source.Question) bool { return len(q.Dataset().ExpectedEvidence) > 0 })
}

// checksScorer reports whether the scorer is checked with answers known to be right or wrong.
// Scorers that compare paths or run checks, among others, are not.
func (p *Plan) checksScorer() bool {
	switch p.Scorer.Needs {
	case scorer.NeedGold, scorer.NeedChecks:
		return false
	}
	return p.External == nil || p.External.Judges()
}

// openPanel opens the models of the recipes.
func (p *Plan) openPanel() (err error) {
	opened := map[llm.Config]llm.Provider{*p.Judge: p.judge} // how a model is asked is found out once
	for i := range p.Panel {
		r := &p.Panel[i]
		if r.Model == nil {
			continue
		}
		if r.provider = opened[*r.Model]; r.provider == nil {
			if r.provider, err = llm.Open(*r.Model); err != nil {
				return fmt.Errorf("--judge-panel: recipe %s: %w", r.Name, err)
			}
			opened[*r.Model] = r.provider
		}
		p.models = append(p.models, llm.Config{Provider: r.provider.Name(), Model: r.Model.Model})
	}
	return nil
}

// newJudgePlan returns the judge or the panel. first has the settings that all recipes share.
func (p *Plan) newJudgePlan(first judging.Config) (*judging.Plan, error) {
	if len(p.Panel) == 0 {
		return judging.New(first)
	}
	var recipes []judging.Recipe
	own := map[string]Recipe{} // the recipes that have a model, by its name in their files
	for _, r := range p.Panel {
		recipes = append(recipes, r.Recipe)
		if r.Model != nil {
			own[r.Recipe.Model] = r
		}
	}
	return judging.NewPanel(first, recipes, func(name string) (judging.Config, error) {
		r := own[name]
		return judging.Config{Provider: r.provider, Model: r.Model.Model, BaseURL: llm.RecordedURL(*r.Model)}, nil
	})
}

// unpricedJudge returns the first judging model without a known price, "" for none.
func (p *Plan) unpricedJudge() string {
	if p.judgePlan == nil {
		return ""
	}
	return p.judgePlan.UnpricedModel()
}

// Recipes returns the recipes of a panel of judges, the headline first, or nil for a single judge.
func (p *Plan) Recipes() []result.Recipe {
	if p.judgePlan == nil {
		return nil
	}
	return p.judgePlan.Panel()
}

// JudgeID identifies the judging model and its prompts, nil for none.
func (p *Plan) JudgeID() *result.JudgeModel {
	if p.judgePlan == nil {
		return nil
	}
	return new(p.judgePlan.Identity())
}
