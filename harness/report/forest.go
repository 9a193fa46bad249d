package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/svg"
)

// plotted limits the rows of a plot. The others are folded.
const plotted = 12

// intervalOf returns a value to draw. Its ends are NaN without an interval.
func intervalOf(value float64, i *result.Interval) svg.Interval {
	v := svg.Interval{Value: value, Low: math.NaN(), High: math.NaN()}
	if i != nil {
		v.Low, v.High = i.Low, i.High
	}
	return v
}

// plot adds the rows of a plot for HTML. Only the first rows are unfolded.
func plot(s *form.Section, caption, more string, rows []form.PlotRow, axis func() template.HTML) {
	open := min(len(rows), plotted)
	if len(rows) == open+1 {
		open++ // a fold takes as much space
	}
	s.Show(form.HTML, form.Plot{Caption: caption, Rows: rows[:open], Axis: axis})
	if open < len(rows) {
		s.Show(form.HTML, form.Fold{Title: fmt.Sprintf("%d more %s", len(rows)-open, more),
			Content: form.Plot{Rows: rows[open:], Axis: axis}})
	}
}

// tagPlot draws the pass rates of all questions and of the tags.
func (run *Run) tagPlot(s *form.Section) {
	res := &run.Result
	if res.PassRate == nil {
		return
	}
	var rows []form.PlotRow
	caption := "Pass rates with their intervals."
	add := func(name form.Text, n result.Counts, rate *float64, i *result.Interval, floor float64) {
		if rate == nil {
			return
		}
		if !math.IsNaN(floor) {
			caption = "Pass rates with their intervals. Dashed line: the floor."
		}
		scale := svg.Scale{High: 1, Zero: math.NaN(), Floor: floor}
		rows = append(rows, form.PlotRow{Name: name, Value: form.F("%s of %d", figure.Rate(rate), n.Total),
			Draw: func() template.HTML { return scale.Row(intervalOf(*rate, i), true) }})
	}
	add(form.F("all questions"), res.Counts, res.PassRate, res.Believed(), run.floor())
	for _, row := range tagRows(res) {
		floor := math.NaN()
		if row.Floor != nil {
			floor = row.Floor.Floor
		}
		add(form.F("%s", form.Name(row.Tag)), row.Counts, row.PassRate, row.Interval, floor)
	}
	plot(s, caption, "tags", rows, func() template.HTML {
		return svg.Scale{High: 1, Zero: math.NaN(), Floor: math.NaN()}.Axis(func(v float64) string { return fmt.Sprintf("%.1f", v) })
	})
}

// floor returns the floor for all questions, NaN for none and for 0, which every rate reaches.
func (run *Run) floor() float64 {
	if g := run.Result.Gate; g != nil && g.Floor > 0 {
		return g.Floor
	}
	return math.NaN()
}

// rank orders differences: proven losses, proven gains, then differences that are not proven.
func rank(v compare.Verdict) int {
	return max(0, slices.Index([]compare.Verdict{compare.Worse, compare.Better, compare.NotSeen, compare.NotJudged}, v))
}

// isShown reports whether a difference is proven.
func isShown(v compare.Verdict) bool { return rank(v) < rank(compare.NotSeen) }

// ordered returns the pairs, proven losses first.
func (c Comparison) ordered() []*compare.Pair {
	var out []*compare.Pair
	for i := range c.Pairs {
		out = append(out, &c.Pairs[i])
	}
	slices.SortStableFunc(out, func(x, y *compare.Pair) int {
		if order := cmp.Compare(rank(x.Verdict), rank(y.Verdict)); order != 0 || x.Difference == nil || y.Difference == nil {
			return order
		}
		return cmp.Compare(*x.Difference, *y.Difference)
	})
	return out
}

// forest draws the differences of pass rates and of the other means, each on its own scale.
func (c Comparison) forest(s *form.Section) {
	var rows []form.PlotRow
	most, margin := 0.05, math.NaN()
	for _, p := range c.Pairs {
		most = max(most, widest(p.Difference, p.Interval))
		if p.Margin != nil {
			margin = -p.Margin.Margin
			most = max(most, p.Margin.Margin)
		}
	}
	scale := svg.Scale{Low: -most, High: most, Floor: margin}
	for _, p := range c.ordered() {
		if p.Difference != nil {
			rows = append(rows, c.forestRow(scale, c.pair(p.Run, p.Reference), form.F("%s", pointsWithin(p.Table)),
				intervalOf(*p.Difference, p.Interval), p.Verdict))
		}
	}
	caption := "Differences of the pass rates in percentage points, with intervals at the level of their test. A hollow circle is a difference that is not shown."
	if !math.IsNaN(margin) {
		caption += " Dashed line: the margin."
	}
	plot(s, caption, "pairs", rows, func() template.HTML { return scale.Axis(figure.Points) })
}

func (c Comparison) forestRow(scale svg.Scale, name, value form.Text, v svg.Interval, verdict compare.Verdict) form.PlotRow {
	cell := c.verdictCell(verdict)
	return form.PlotRow{Name: name, Value: form.F("%s  %s", value, cell.Text), Tone: cell.Tone, Mark: cell.Mark,
		Draw: func() template.HTML { return scale.Row(v, isShown(verdict)) }}
}

// means draws the differences of scores and of retrieval, by measure and pair.
func (c Comparison) means(s *form.Section) {
	most := 0.05
	type row struct {
		p *compare.Pair
		m compare.MeasureDifference
	}
	byName := map[string][]row{}
	for i := range c.Pairs {
		for _, m := range c.Pairs[i].Measures {
			byName[m.Name] = append(byName[m.Name], row{&c.Pairs[i], m})
			most = max(most, widest(&m.Difference, m.Interval))
		}
	}
	scale := svg.Scale{Low: -most, High: most, Floor: math.NaN()}
	axis := func() template.HTML { return scale.Axis(func(v float64) string { return fmt.Sprintf("%+.2f", v) }) }
	var shown, others []form.PlotRow
	for _, name := range sortedKeys(byName) {
		list := byName[name]
		slices.SortStableFunc(list, func(x, y row) int {
			return cmp.Or(cmp.Compare(rank(x.m.Verdict), rank(y.m.Verdict)), cmp.Compare(x.m.Difference, y.m.Difference))
		})
		words, _ := compare.MeasureName(name)
		headed := map[bool]bool{}
		for _, r := range list {
			to := &others
			if isShown(r.m.Verdict) {
				to = &shown
			}
			if !headed[isShown(r.m.Verdict)] {
				headed[isShown(r.m.Verdict)] = true
				*to = append(*to, form.PlotRow{Name: form.F("%s", cmp.Or(words, name))})
			}
			*to = append(*to, c.forestRow(scale, c.pair(r.p.Run, r.p.Reference), form.F("%s", meanWithin(r.m)),
				intervalOf(r.m.Difference, r.m.Interval), r.m.Verdict))
		}
	}
	if len(shown) > 0 {
		s.Show(form.HTML, form.Plot{Caption: "Differences of scores and of retrieval that are shown.", Rows: shown, Axis: axis})
	}
	if len(others) > 0 {
		s.Show(form.HTML, form.Fold{Title: "Differences of scores and of retrieval that are not shown, as a plot",
			Content: form.Plot{Rows: others, Axis: axis}})
	}
}

// meanWithin formats a difference of means with its interval.
func meanWithin(m compare.MeasureDifference) string {
	text := fmt.Sprintf("%+.3f", m.Difference)
	if m.Interval != nil {
		text += fmt.Sprintf(" [%+.3f %+.3f]", m.Interval.Low, m.Interval.High)
	}
	return text
}

// pairRows are the rows of a table of differences, proven ones first.
type pairRows struct {
	columns []any
	rows    []pairRow
}

type pairRow struct {
	verdict    compare.Verdict
	difference float64
	cells      []any
}

func (t *pairRows) add(v compare.Verdict, difference float64, cells ...any) {
	t.rows = append(t.rows, pairRow{v, difference, cells})
}

// rowsListed is the number of rows without a shown difference that Markdown still lists.
const rowsListed = 2

// in adds the table to pages. HTML folds the rows without a shown difference, Markdown counts them.
func (t *pairRows) in(s *form.Section, in form.Forms, caption form.Text, what string) {
	slices.SortStableFunc(t.rows, func(x, y pairRow) int {
		if order := cmp.Compare(rank(x.verdict), rank(y.verdict)); order != 0 || !isShown(x.verdict) {
			return order
		}
		return cmp.Compare(x.difference, y.difference)
	})
	shown := 0
	for shown < len(t.rows) && isShown(t.rows[shown].verdict) {
		shown++
	}
	table := func(rows []pairRow) *form.Table {
		out := form.NewTable(caption, t.columns...)
		for _, r := range rows {
			out.Row(r.cells...)
		}
		return out
	}
	listed := shown
	if len(t.rows)-shown <= rowsListed {
		listed = len(t.rows)
	}
	s.Show(in&form.Markdown, table(t.rows[:listed]))
	s.Show(in&form.HTML, table(t.rows[:shown]))
	if more := len(t.rows) - listed; more > 0 {
		s.FactIn(in&form.Markdown, what, "no difference is shown in %d of %s", more, figure.Count(len(t.rows), "row"))
	}
	if more := len(t.rows) - shown; more > 0 {
		s.Show(in&form.HTML, form.Fold{Title: fmt.Sprintf("%s without a difference shown: %s", figure.Count(more, "row"), what), Content: table(t.rows[shown:])})
	}
}
