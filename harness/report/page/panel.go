package page

import (
	"fmt"
	"math"

	"evalctl/harness/result"
)

// disputesShown is how many disputed answers a page lists.
const disputesShown = 100

// panelBlocks shows what the recipes of a panel say, the answers on which they disagree first.
func panelBlocks(p *result.Panel) []block {
	if p == nil {
		return nil
	}
	n := len(p.Disputed)
	out := []block{{Text: fmt.Sprintf("The recipes of the panel disagree about %s.", count(n, "answer"))}}
	if n > 0 {
		t := &table{Caption: "Disputed answers, the most evenly split first", Columns: columns("question", "passed by", "failed by")}
		for _, d := range p.Disputed[:min(n, disputesShown)] {
			t.row(cells(name(d.ID), names(d.Passed), names(d.Failed))...)
		}
		out = append(out, block{Table: t})
	}
	rates := newRates("Pass rates by recipe, with their 95% intervals")
	for i, r := range p.Recipes {
		what := name(r.Recipe)
		if i == 0 {
			what += " (headline)"
		}
		rates.add(what, r.Counts, r.PassRate, r.Interval, math.NaN())
	}
	t := &table{Caption: "Agreement of recipes", Columns: columns("recipes", ">answers", ">agree", ">kappa", ">AC1")}
	for _, a := range p.Pairs {
		t.row(cells(name(a.First)+", "+name(a.Second), fmt.Sprint(a.N), rateOf(a.Agreement), a.Kappa.String(), a.AC1.String())...)
	}
	if len(p.Recipes) > 2 {
		t.row(cells("all (Fleiss’ kappa)", fmt.Sprint(p.Judged), "", p.Fleiss.String(), p.AC1.String())...)
	}
	out = append(out, block{Table: &rates.table}, block{Table: t})
	if p.Low != nil && p.High != nil {
		out = append(out, block{Text: fmt.Sprintf("The pass rate spans %.3f to %.3f over the recipes; the headline is %s.", *p.Low, *p.High, name(p.Headline))})
	}
	return out
}

// names returns names of recipes, with commas between them.
func names(list []string) string {
	text := ""
	for i, one := range list {
		if i > 0 {
			text += ", "
		}
		text += name(one)
	}
	return text
}
