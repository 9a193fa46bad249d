package compare

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/stats"
)

// RecipeDifference is the difference between two runs under one recipe that judged both.
type RecipeDifference struct {
	// Recipe is the recipe's name in the reference; SHA256 is its digest, the same in both runs.
	Recipe string `json:"recipe"`
	SHA256 string `json:"sha256"`
	// N is the number of questions with a verdict of the recipe in both runs.
	N             int      `json:"n"`
	ReferenceRate *float64 `json:"reference_rate"`
	RunRate       *float64 `json:"run_rate"`
	// Difference, Interval and P are as in Table, but not adjusted for the number of recipes.
	Difference *float64         `json:"difference"`
	Interval   *result.Interval `json:"interval"`
	P          *float64         `json:"p"`
}

// recipesOf returns the recipes that all files of a side have, in the order of its first file.
func recipesOf(side *Run) []result.Recipe {
	var common []result.Recipe
	for i, f := range side.files() {
		if f.res == nil {
			return nil
		}
		if i == 0 {
			common = f.res.Identity.Panel
			continue
		}
		common = bothHave(common, f.res.Identity.Panel)
	}
	return common
}

// bothHave returns the recipes of a that b has, by their digests.
func bothHave(a, b []result.Recipe) []result.Recipe {
	var out []result.Recipe
	for _, r := range a {
		for _, other := range b {
			if r.SHA256 == other.SHA256 {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// compareRecipes compares the pair under each recipe that judged both runs, if there are two or more.
func (p *Pair) compareRecipes(recipes []result.Recipe, rows [][]*question, d design) {
	if len(recipes) < 2 {
		return
	}
	for _, r := range recipes {
		c := d.contrast(rows, p.Reference, p.Run, true, func(q *question) float64 { return rate(q.passesBy(r.SHA256)) })
		t := c.table()
		of := RecipeDifference{Recipe: r.Name, SHA256: r.SHA256, N: t.N, Difference: t.Difference, Interval: t.Interval, P: t.P}
		if t.N > 0 {
			of.RunRate, of.ReferenceRate = known(stats.Mean(c.run)), known(stats.Mean(c.reference))
		}
		p.Recipes = append(p.Recipes, of)
	}
}

// sameSign reports whether the difference has the same nonzero sign under every recipe.
func (p *Pair) sameSign() bool {
	signs := 0
	for _, r := range p.Recipes {
		if r.Difference != nil && *r.Difference > 0 {
			signs++
		} else if r.Difference != nil && *r.Difference < 0 {
			signs--
		}
	}
	return max(signs, -signs) == len(p.Recipes)
}

// passesBy is passes for one recipe.
func (q *question) passesBy(sha256 string) (passed, judged int) {
	for _, a := range q.attempts {
		if a.outcome == result.Errored {
			judged++
			continue
		}
		if pass, ok := a.recipes[sha256]; ok {
			judged++
			if pass {
				passed++
			}
		}
	}
	return passed, judged
}

// verdictsBy returns whether an answer passed by each judging recipe, keyed by digest.
func verdictsBy(r *result.Record, recipes []result.Recipe) map[string]bool {
	if len(r.Panel) == 0 {
		return nil
	}
	out := map[string]bool{}
	for i, v := range r.Panel {
		if i < len(recipes) && v.Score != nil {
			out[recipes[i].SHA256] = v.Passed
		}
	}
	return out
}

// RecipesText says whether the difference has the same sign under every recipe and lists its size
// under each. It is empty if fewer than two recipes judged both runs.
func (p *Pair) RecipesText() string {
	if p.Robust == nil {
		return ""
	}
	var each []string
	equal := true
	for _, r := range p.Recipes {
		equal = equal && r.Difference != nil && *r.Difference == 0
		text := r.Recipe + " –"
		if r.Difference != nil {
			text = r.Recipe + " " + figure.Points(*r.Difference) + " pp"
			if r.Interval != nil {
				text += fmt.Sprintf(" [%s %s]", figure.Points(r.Interval.Low), figure.Points(r.Interval.High))
			}
		}
		each = append(each, text)
	}
	said := "not robust: the sign of the difference depends on the recipe"
	switch {
	case equal:
		said = "no difference under any recipe"
	case *p.Robust:
		said = fmt.Sprintf("robust: the difference is shown, and has the same sign under all %s", figure.Count(len(p.Recipes), "recipe"))
	case p.sameSign():
		said = fmt.Sprintf("the difference has the same sign under all %s, and is not shown by the test", figure.Count(len(p.Recipes), "recipe"))
	}
	return said + ": " + strings.Join(each, ", ")
}
