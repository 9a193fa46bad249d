package scorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Member is a judge of a Panel with its recipe's name.
type Member struct {
	Recipe string
	*Judge
}

// RecipeVerdict is the verdict of one judge of a panel.
type RecipeVerdict struct {
	Recipe string
	Verdict
}

// Panel scores every answer with several judges. The verdict is the first judge's, the headline;
// Verdict.Recipes has the verdicts of all. Verdict.Unanswered is set if any judge did not answer.
// It is safe for concurrent use if its judges are.
type Panel struct{ members []Member }

// NewPanel returns a panel of two or more judges with distinct recipe names.
func NewPanel(members ...Member) (*Panel, error) {
	if len(members) < 2 {
		return nil, errors.New("a panel has two judges or more")
	}
	names := map[string]bool{}
	for _, m := range members {
		if names[m.Recipe] {
			return nil, fmt.Errorf("two recipes of the panel are called %q; rename one", m.Recipe)
		}
		names[m.Recipe] = true
	}
	return &Panel{members}, nil
}

// Name implements Scorer.
func (p *Panel) Name() string { return p.members[0].Name() }

// Check implements Scorer.
func (p *Panel) Check(item Item) error {
	for _, m := range p.members {
		if err := m.Check(item); err != nil {
			return err
		}
	}
	return nil
}

// Score implements Scorer. If any judge fails, the verdict is unscored and has the cost of all.
func (p *Panel) Score(ctx context.Context, item Item) (Verdict, error) {
	sum, recipes := Verdict{Cached: true}, make([]RecipeVerdict, 0, len(p.members))
	for _, m := range p.members {
		v, err := m.Score(ctx, item)
		sum.spend(v)
		if err != nil {
			sum.Cached = false
			return sum, fmt.Errorf("recipe %s: %w", m.Recipe, err)
		}
		recipes = append(recipes, RecipeVerdict{m.Recipe, v})
	}
	v := recipes[0].Verdict
	v.Unanswered = slices.ContainsFunc(recipes, func(r RecipeVerdict) bool { return r.Unanswered })
	v.Attempts, v.Usage, v.Cost, v.Saved, v.Cached = sum.Attempts, sum.Usage, sum.Cost, sum.Saved, sum.Cached
	v.Recipes = recipes
	return v, nil
}
