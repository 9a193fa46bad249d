package text

import (
	"fmt"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Recipes prints the recipes of a panel, nothing for one judge.
func Recipes(t *terminal.Terminal, recipes []result.Recipe) {
	for i, r := range recipes {
		role := ""
		if i == 0 {
			role = "  the headline"
		}
		t.Field("recipe", "%s %s  %s%s", terminal.Line(r.Name), terminal.Short(r.SHA256, 9), judgeName(r.Judge), role)
	}
}

// listedDisputes is how many disputed answers a terminal lists.
const listedDisputes = 8

// printPanel prints what the recipes of a panel say: first the answers on which they disagree.
func printPanel(t *terminal.Terminal, res result.Result) {
	p := res.Panel
	if p == nil {
		return
	}
	t.Blank()
	n := len(p.Disputed)
	t.Field("disputed", "%s on which the recipes disagree", figure.Count(n, "answer"))
	for _, d := range p.Disputed[:min(n, listedDisputes)] {
		t.Field("", "%s", terminal.Line(d.String()))
	}
	if n > listedDisputes {
		t.Field("", "… and %d more, all in the result", n-listedDisputes)
	}
	t.Blank()
	rows := [][]string{{"recipe", "passed", "pass rate", "unscored"}}
	for i, r := range p.Recipes {
		name := terminal.Short(r.Recipe, 40)
		if i == 0 {
			name += " (headline)"
		}
		rows = append(rows, []string{
			name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), optional(r.PassRate, func(v float64) string { return fmt.Sprintf("%.3f %s", v, intervalText(r.Interval)) }), orDash(r.Counts.Unscored, fmt.Sprint(r.Counts.Unscored)),
		})
	}
	t.Table(rows)
	rows = [][]string{{"agreement", "answers", "agree", "kappa", "AC1"}}
	for _, a := range p.Pairs {
		rows = append(rows, []string{
			terminal.Short(a.First, 40) + ", " + terminal.Short(a.Second, 40), fmt.Sprint(a.N),
			optional(a.Agreement, func(v float64) string { return fmt.Sprintf("%.3f", v) }), a.Kappa.String(), a.AC1.String(),
		})
	}
	if len(p.Recipes) > 2 {
		rows = append(rows, []string{"all, Fleiss' kappa", fmt.Sprint(p.Judged), "", p.Fleiss.String(), p.AC1.String()})
	}
	t.Table(rows)
	if p.Low != nil && p.High != nil {
		t.Field("span", "%.3f to %.3f over %s; the headline is %s", *p.Low, *p.High, figure.Count(len(p.Recipes), "recipe"),
			terminal.Line(p.Headline))
	}
}
