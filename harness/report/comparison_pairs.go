package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// pairTable returns a row for each run, with its difference from the first, and one for each other
// pair.
func (c Comparison) pairTable() *form.Table {
	t := form.NewTable(form.F("Pass rates with 95%% intervals, and their differences with intervals at the level of their test"), "", ">passed", ">pass rate", "|>errors", "|>unscored",
		form.Column{Name: form.F("vs %s", c.run(0)), Number: true, In: form.Everywhere}, ">only this / only other", ">p, Holm", ">")
	for i, r := range c.Runs {
		name := form.F("%s", c.run(i))
		if n := len(r.Files); n > 0 {
			name = form.F("%s, %d runs", c.run(i), n)
		}
		row := []any{name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Believed()),
			r.Counts.Errors, r.Counts.Unscored}
		if i == 0 {
			t.Row(append(row, "", "", "", "")...)
			continue
		}
		p := slices.IndexFunc(c.Pairs, func(p compare.Pair) bool { return p.Reference == 0 && p.Run == i })
		t.Row(append(row, c.pairCells(&c.Pairs[p])...)...)
	}
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.Reference > 0 && (isShown(p.Verdict) || len(c.Pairs) <= pairsListed) {
			t.Row(append([]any{c.pair(p.Run, p.Reference), "", "", "", ""}, c.pairCells(p)...)...)
		}
	}
	return t
}

// pairsListed is up to how many pairs the table has those between other runs than the first of
// which no difference is shown.
const pairsListed = 6

// unlisted says how many pairs the table of pairs does not have, empty for none.
func (c Comparison) unlisted() string {
	n := 0
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.Reference > 0 && !isShown(p.Verdict) && len(c.Pairs) > pairsListed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("no difference is shown in %s; evalctl compare --format json has them", figure.Count(n, "more pair"))
}

// runTable has a row for each run, for a page whose differences are elsewhere.
func (c Comparison) runTable() *form.Table {
	t := form.NewTable(form.F("Pass rates with 95%% intervals"), "", ">passed", ">pass rate", "0 to 1", ">errors", ">unscored")
	for i, r := range c.Runs {
		name := form.F("%s", c.run(i))
		if n := len(r.Files); n > 0 {
			name = form.F("%s, %d runs", c.run(i), n)
		}
		t.Row(name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Believed()),
			rateBar(r.PassRate, r.Believed(), math.NaN()), r.Counts.Errors, r.Counts.Unscored)
	}
	return t
}

// pairs adds the differences of the pairs for HTML.
func (c Comparison) pairs(s *form.Section) {
	t := pairRows{columns: []any{"pair", ">difference", ">only this / only other", ">p, Holm", "verdict"}}
	for _, p := range c.ordered() {
		t.add(p.Verdict, value(p.Difference), append([]any{c.pair(p.Run, p.Reference)}, c.pairCells(p)...)...)
	}
	t.in(s, form.HTML, form.F("Differences of the pass rates"), "pass rates")
}

// value returns *v, 0 for nil.
func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// pairCells returns the difference, the disagreements, the p-values and the verdict.
func (c Comparison) pairCells(p *compare.Pair) []any {
	if p.Difference == nil {
		return []any{"–", "–", "–", "nothing to compare"}
	}
	return append(tableCells(p.Table), c.verdictCell(p.Verdict))
}

// tableCells returns the difference, the disagreements and the p-values.
func tableCells(t compare.Table) []any {
	if t.Difference == nil {
		return []any{"–", "–", "–"}
	}
	p := "not tested"
	if t.P != nil {
		p = probabilities(*t.P, t.Adjusted)
	}
	return []any{pointsWithin(t), fmt.Sprintf("%d / %d", t.OnlyRun, t.OnlyReference), p}
}

// probabilities formats a p-value and, after an arrow, the adjusted one.
func probabilities(p float64, adjusted *float64) string {
	if adjusted == nil {
		return figure.Probability(p)
	}
	return figure.Probability(p) + " → " + figure.Probability(*adjusted)
}

func (c Comparison) verdictCell(v compare.Verdict) form.Cell {
	tone := map[compare.Verdict]form.Tone{compare.Better: form.Good, compare.Worse: form.Bad}[v]
	if tone == form.Bad && c.Baseline == "" {
		tone = form.Doubt
	}
	return form.Cell{Text: form.F("%s", v.Words()), Mark: v.Mark(), Tone: tone}
}

// widest returns the largest absolute end of the interval of a difference, or the difference if
// it has none, for the scale of a drawing.
func widest(difference *float64, i *result.Interval) float64 {
	if i == nil {
		return math.Abs(value(difference))
	}
	return max(math.Abs(i.Low), math.Abs(i.High))
}

// scale names the ends of the scale of drawn differences.
func scale(most float64) string { return fmt.Sprintf("−%.0f to +%.0f pp", 100*most, 100*most) }

// differenceBar draws a difference.
func differenceBar(t compare.Table, most float64) form.Cell {
	if t.Difference == nil {
		return form.Cell{}
	}
	v := intervalOf(*t.Difference, t.Interval)
	return form.Cell{Bar: func() template.HTML { return svg.Difference(v, math.NaN(), most) }}
}

// legend describes how the figures of the table were computed.
func (c Comparison) legend(s *form.Section, in form.Forms) {
	test, within := form.F("exact McNemar"), "Newcombe, paired"
	switch {
	case c.ClusterTag != "":
		test, within = c.clusterFlips(), "what the test does not reject"
	case c.Repeated:
		test, within = form.F("sign flips, seed %d", c.Seed), "what the test does not reject"
	}
	if c.severalRuns() {
		test = form.F("%s, and a t test over questions and runs", test)
	}
	s.FactIn(in, "methods", "intervals: %s for rates, 95%%; %s for differences, %s  p: %s", c.rateMethods(), within, c.levels(), test)
	s.FactIn(in, "tests", "primary: %s; p adjusted by Holm over %s, below 0.05 is shown  others: over %s, below 0.05 if a primary measure differs, else 0.005",
		c.PrimaryText(), figure.Count(c.Tests, "test"), figure.Count(c.OtherTests, "test"))
}

// levels formats the lowest and the highest level of the intervals of the pairs.
func (c Comparison) levels() string {
	var levels []*result.Interval
	for i := range c.Pairs {
		if within := c.Pairs[i].Interval; within != nil {
			levels = append(levels, within)
		}
	}
	if len(levels) == 0 {
		return "at the level of the test"
	}
	byLevel := func(x, y *result.Interval) int { return cmp.Compare(x.Confidence, y.Confidence) }
	least, most := wording.Level(slices.MinFunc(levels, byLevel)), wording.Level(slices.MaxFunc(levels, byLevel))
	if least == most {
		return least
	}
	return least + " to " + most
}

// clusterFlips describes the test over clusters. The number of clusters differs between pairs if
// questions have no score.
func (c Comparison) clusterFlips() form.Text {
	var clusters []int
	resampled, exact := false, false
	for _, p := range c.Pairs {
		clusters = append(clusters, p.Clusters)
		resampled, exact = resampled || p.Resampled(), exact || strings.HasSuffix(p.Test, "_exact")
	}
	least, most := slices.Min(clusters), slices.Max(clusters)
	of := figure.Count(most, "cluster")
	if least < most {
		of = fmt.Sprintf("%d to %s", least, of)
	}
	text := form.F("sign flips of %s by %s", of, form.Name(c.ClusterTag))
	if resampled {
		text = form.F("%s, %d resamples, seed %d", text, c.Resamples, c.Seed)
		if exact {
			text = form.F("%s (p by all signs if few clusters differ)", text)
		}
	}
	return text
}

// rateMethods names the methods of the intervals of the pass rates.
func (c Comparison) rateMethods() form.Text {
	var shown []*result.Interval
	for i := range c.Runs {
		shown = append(shown, c.Runs[i].Believed())
	}
	return methodsOf(shown)
}
