package report

import (
	"fmt"
	"strings"

	"evalctl/internal/markdown"
)

// panel writes what the recipes of a panel say, the answers on which they disagree first.
func (a *Arm) panel(p *summary) {
	panel := a.Run.Result.Panel
	if panel == nil {
		return
	}
	p.printf("The recipes of the panel disagree about %s.\n\n", markdown.Count(len(panel.Disputed), "answer"))
	p.rows(markdown.NewTable("lll", "disputed", "passed by", "failed by"), len(panel.Disputed), "disputed answers", func(i int) []string {
		d := panel.Disputed[i]
		return []string{markdown.Cell(d.ID), recipeNames(d.Passed), recipeNames(d.Failed)}
	})
	t := markdown.NewTable("lrrrr", "recipe", "passed", "pass rate", "95%", "unscored")
	for _, r := range panel.Recipes {
		t.Row(markdown.Cell(r.Recipe), fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), markdown.Rate(r.PassRate), interval(r.Interval), fmt.Sprint(r.Counts.Unscored))
	}
	p.part(t.Write)
	t = markdown.NewTable("lrrrr", "recipes", "answers", "agree", "kappa", "AC1")
	for _, pair := range panel.Pairs {
		t.Row(recipeNames([]string{pair.First, pair.Second}), fmt.Sprint(pair.N), markdown.Rate(pair.Agreement), pair.Kappa.String(), pair.AC1.String())
	}
	if len(panel.Recipes) > 2 {
		t.Row("all (Fleiss' kappa)", fmt.Sprint(panel.Judged), "", panel.Fleiss.String(), panel.AC1.String())
	}
	p.part(t.Write)
	if panel.Low != nil && panel.High != nil {
		p.printf("The pass rate spans %.3f to %.3f over the recipes; the headline is %s.\n\n", *panel.Low, *panel.High, markdown.Code(panel.Headline))
	}
}

func recipeNames(list []string) string {
	var out []string
	for _, name := range list {
		out = append(out, markdown.Cell(name))
	}
	return strings.Join(out, ", ")
}
