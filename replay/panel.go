package replay

import (
	"fmt"

	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/ledger"
)

// Recipe is a recipe of a panel with its model, which is nil for that of Config.Judge.
type Recipe struct {
	judging.Recipe
	Model *llm.Config

	provider llm.Provider // of Model
}

// panelOf returns the recipes of a panel, with the models that they name.
func panelOf(env func(string) string, list []string) ([]Recipe, error) {
	recipes, err := judging.Recipes(list)
	if err != nil {
		return nil, err
	}
	var out []Recipe
	for _, r := range recipes {
		member := Recipe{Recipe: r}
		if r.Model != "" {
			ref, err := llm.ParseRef(env, "judge", r.Model)
			if err != nil {
				return nil, fmt.Errorf("recipe %s: %w", r.Name, err)
			}
			member.Model = new(ref.JudgeConfig(env))
		}
		out = append(out, member)
	}
	return out, nil
}

// Recipes returns the recipes of a panel of judges, the headline first, and nil for one judge.
func (p *Plan) Recipes() []result.Recipe {
	if p.judging == nil {
		return nil
	}
	return p.judging.Panel()
}

// openPanel opens the models of recipes.
func (p *Plan) openPanel() (err error) {
	for i := range p.Panel {
		r := &p.Panel[i]
		if r.Model == nil {
			continue
		}
		if r.provider, err = llm.Open(*r.Model); err != nil {
			return fmt.Errorf("--judge-panel: recipe %s: %w", r.Name, err)
		}
	}
	return nil
}

// plannedJudge returns the judge, or the panel, of first, which has what all recipes share. open
// returns what asks the model of a recipe.
func (p *Plan) plannedJudge(first judging.Config, open func(llm.Provider, *llm.Config) (llm.Provider, error)) (*judging.Plan, error) {
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
		provider, err := open(r.provider, r.Model)
		return judging.Config{Provider: provider, Model: r.Model.Model, BaseURL: llm.RecordedURL(*r.Model)}, err
	})
}

// openedJudge returns the judge, or the panel, whose calls are in the ledger as those of an arm.
func (r *replaying) openedJudge(arm string, wrap cached, maxUnusable int) (*judging.Plan, error) {
	counted := func(p llm.Provider, m *llm.Config) (llm.Provider, error) {
		return r.counted(p, m, ledger.Judge, arm, wrap)
	}
	provider, err := counted(r.plan.judge, r.plan.Judge)
	if err != nil {
		return nil, err
	}
	c := r.plan.judgedBy(provider)
	c.Metered, c.MaxUnusable = true, maxUnusable
	return r.plan.plannedJudge(c, counted)
}
