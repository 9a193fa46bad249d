package result

import (
	"fmt"
	"strings"
)

// Recipe is one way to judge: prompts, a model and a temperature.
type Recipe struct {
	// Name is unique in a panel.
	Name string `json:"name"`
	// SHA256 identifies the judge. Two recipes with the same digest judge alike, whatever their
	// names.
	SHA256 string     `json:"sha256"`
	Judge  JudgeModel `json:"judge"`
}

// RecipeVerdict is the verdict on an answer by one recipe.
type RecipeVerdict struct {
	Recipe string `json:"recipe"`
	// Score is nil without a usable verdict; Reason then says why.
	Score  *float64 `json:"score"`
	Passed bool     `json:"passed"`
	Reason string   `json:"reason,omitempty"`
}

// Panel has the figures of a result judged by several recipes. The result itself has the figures of
// the headline.
type Panel struct {
	Headline string `json:"headline"`
	// Recipes are in the order of the identity, the headline first.
	Recipes []RecipeFigures `json:"recipes"`
	// Low and High are the lowest and the highest pass rate of any recipe, nil without questions.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Pairs have the agreement of every two recipes, over the answers that both judged.
	Pairs []RecipePair `json:"pairs"`
	// Judged is the number of answers judged by all recipes. Fleiss and AC1 are over these.
	Judged int         `json:"judged"`
	Fleiss Coefficient `json:"fleiss_kappa"`
	AC1    Coefficient `json:"ac1"`
	// Disputed are the answers that only some recipes pass, the most evenly split first.
	Disputed []Dispute `json:"disputed"`
}

// RecipeFigures are the outcomes by one recipe.
type RecipeFigures struct {
	Recipe   string    `json:"recipe"`
	Counts   Counts    `json:"counts"`
	PassRate *float64  `json:"pass_rate"`
	Interval *Interval `json:"pass_rate_interval"`
}

// RecipePair is the agreement of two recipes on the answers that both judged.
type RecipePair struct {
	First  string `json:"first"`
	Second string `json:"second"`
	N      int    `json:"n"`
	// Agreement is the share of N with the same verdict, nil if N is 0.
	Agreement *float64    `json:"agreement"`
	Kappa     Coefficient `json:"kappa"`
	AC1       Coefficient `json:"ac1"`
}

// Coefficient is a measure of agreement. Value is nil where it is undefined, and Interval where its
// variance is unknown.
type Coefficient struct {
	Value    *float64  `json:"value"`
	Interval *Interval `json:"interval"`
}

// String formats the coefficient with its interval, or as a dash.
func (c Coefficient) String() string {
	switch {
	case c.Value == nil:
		return "–"
	case c.Interval == nil:
		return fmt.Sprintf("%.3f", *c.Value)
	}
	return fmt.Sprintf("%.3f [%.3f %.3f]", *c.Value, c.Interval.Low, c.Interval.High)
}

// Dispute is an answer on which recipes disagree.
type Dispute struct {
	ID     string   `json:"id"`
	Repeat int      `json:"repeat,omitempty"`
	Passed []string `json:"passed"`
	Failed []string `json:"failed"`
}

// String formats the dispute.
func (d Dispute) String() string {
	id := d.ID
	if d.Repeat > 0 {
		id += fmt.Sprintf(" (repeat %d)", d.Repeat)
	}
	return fmt.Sprintf("%s: passed by %s, failed by %s", id, strings.Join(d.Passed, ", "), strings.Join(d.Failed, ", "))
}
