package page

import (
	"fmt"
	"math"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// rateSection shows the pass rate, overall and by tag. The stratum X of a replay is the tag type:X.
func rateSection(res *result.Result) section {
	s := section{ID: "rate", Title: "Pass rate"}
	s.add(panelBlocks(res.Panel)...)
	floor := math.NaN()
	if res.Gate != nil {
		floor = res.Gate.Floor
	}
	t := newRates("Pass rates, with their 95% intervals")
	t.add("all questions", res.Counts, res.PassRate, res.Believed(), floor)
	for _, row := range res.TagRows() {
		least := math.NaN()
		if row.Floor != nil {
			least = row.Floor.Floor
		}
		t.add(name(row.Tag), row.Counts, row.PassRate, row.Interval, least)
	}
	s.add(block{Table: &t.table})
	if rows := res.CheckRows(); len(rows) > 0 {
		checks := newRates("Pass rates by check, with their 95% intervals")
		for _, row := range rows {
			checks.add(name(row.Tag), row.Counts, row.PassRate, row.Interval, math.NaN())
		}
		s.add(block{Table: &checks.table})
	}
	s.add(block{Text: "Passed: " + res.Identity.PassedText() + "."})
	if !math.IsNaN(floor) {
		s.add(block{Text: fmt.Sprintf("Bar: the rate. Whisker: its interval. Dashed line: the floor, %.3f for all questions.", floor)})
	}
	n := res.Counts
	if n.Scored > 0 && n.Scored < n.Total {
		s.add(block{Text: fmt.Sprintf("%d scored, %s and %d unscored; the latter two count as not passed. "+
			"Over the scored ones alone the rate is %.3f.",
			n.Scored, count(n.Errors, "error"), n.Unscored, float64(n.Passed)/float64(n.Scored))})
	}
	if f := res.FirstTryRate; f != nil {
		s.add(block{Text: f.Text() + "."})
	}
	if n.NoGold > 0 {
		s.add(block{Text: fmt.Sprintf("%s without gold were left out.", count(n.NoGold, "question"))})
	}
	if res.Leaks != nil {
		s.add(block{Warning: "Leaks: " + res.Leaks.Text() + "."})
	}
	if n.NotMeasurable > 0 {
		s.add(block{Text: notMeasurable(n) + "."})
	}
	if res.MeanScore != nil {
		mean := rateOf(res.MeanScore) + " over the scored questions"
		if res.MeanScoreInterval != nil {
			mean += ", " + levelOf(res.MeanScoreInterval)
		}
		s.add(block{Facts: []fact{{Name: "Mean score", Value: mean}}})
	}
	s.add(gateBlocks(res)...)
	s.add(estimates(res)...)
	s.add(repeatBlocks(res.Repeats)...)
	return s
}

// rates is a table of pass rates.
type rates struct{ table }

func newRates(caption string) *rates {
	return &rates{table{Caption: caption, Columns: columns(
		"questions", ">rate", "0 to 1", ">95% CI (method)", ">passed", ">of", ">errors", ">unscored")}}
}

func (t *rates) add(what string, n result.Counts, rate *float64, i *result.Interval, floor float64) {
	bar := cell{}
	if rate != nil {
		v := svg.Interval{Value: *rate, Low: math.NaN(), High: math.NaN()}
		if i != nil {
			v.Low, v.High = i.Low, i.High
		}
		bar.Bar = svg.Bar(v, floor)
	}
	t.row(append([]cell{{Text: what}, {Text: rateOf(rate)}, bar},
		cells(withMethod(i), fmt.Sprint(n.Passed), fmt.Sprint(n.Total), fmt.Sprint(n.Errors), fmt.Sprint(n.Unscored))...)...)
}

// withMethod returns an interval with its method.
func withMethod(i *result.Interval) string {
	if i == nil {
		return intervalOf(i)
	}
	return intervalOf(i) + " (" + methodName(i.Method) + ")"
}

// estimates shows what else is known of the pass rate: clusters and strata.
func estimates(res *result.Result) []block {
	var facts []fact
	if c := res.Clustered; c != nil {
		what := "clusters of tag " + name(c.Tag)
		if c.Tag == "" {
			what = "repeats of each question"
		}
		text := fmt.Sprintf("%s; standard error %s, %.4f if all were independent",
			count(c.Clusters, "cluster"), number(c.SE), c.NaiveSE)
		if c.Interval != nil {
			text = levelOf(c.Interval) + ", " + text
		}
		facts = append(facts, fact{Name: "By " + what, Value: text})
		if res.Interval != nil {
			facts = append(facts, fact{Name: "Without clusters", Value: levelOf(res.Interval) + ", as if all questions were independent: not to be believed"})
		}
	}
	if r := res.Replay; r != nil {
		if w := r.Weighted; w != nil {
			facts = append(facts, fact{Name: "Whole benchmark", Value: fmt.Sprintf("%.3f, %s, estimated from the types by their shares of the benchmark", w.Mean, levelOf(&w.Interval))})
		}
		if r.Macro != nil {
			facts = append(facts, fact{Name: "Mean of the types", Value: rateOf(r.Macro)})
		}
		if e := r.Errata; e != nil {
			facts = append(facts, fact{Name: "Without errata", Value: fmt.Sprintf("%s, %d of %d; the errata exclude %d and correct %d questions",
				rateOf(e.OriginalPassRate), e.Original.Passed, e.Original.Total, e.Excluded, e.Corrected)})
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return []block{{Facts: facts}}
}

func number(f *float64) string {
	if f == nil {
		return absent
	}
	return fmt.Sprintf("%.4f", *f)
}

// gateBlocks shows the rules of the gate other than the floor of all questions.
func gateBlocks(res *result.Result) []block {
	g := res.Gate
	if g == nil {
		return nil
	}
	var out []block
	lost := fmt.Sprintf("errors %d of %d allowed (%s), unscored %d of %d allowed (%s)",
		g.MaxErrors.Count, g.MaxErrors.Allowed, g.MaxErrors.Max, g.MaxUnscored.Count, g.MaxUnscored.Allowed, g.MaxUnscored.Max)
	facts := []fact{{Name: "Without a score", Value: lost}}
	if text := g.FloorText(); text != "" {
		facts = append([]fact{{Name: "Floor", Value: clean(text)}}, facts...)
	}
	out = append(out, block{Facts: facts})
	if len(g.Tags) > 0 {
		t := &table{Caption: "Floors of tags", Columns: columns("tag", "verdict", ">floor", "how certain")}
		for _, tag := range g.Tags {
			verdict := cell{Text: "below", Mark: "✗", Class: "fail"}
			if tag.Met {
				verdict = cell{Text: "reached", Mark: "✓", Class: "pass"}
			}
			t.row(cell{Text: name(tag.Tag)}, verdict, cell{Text: fmt.Sprintf("%.3f", tag.Floor)}, cell{Text: clean(tag.Text(g.Mode))})
		}
		out = append(out, block{Table: t})
	}
	if b := g.Baseline; b != nil {
		out = append(out, baselineBlock(b))
	}
	return out
}

// baselineBlock shows the comparison with the baseline of the gate.
func baselineBlock(b *result.BaselineGate) block {
	facts := []fact{
		{Name: "Baseline", Value: name(b.Path)},
		{Name: "Verdict", Value: clean(b.Text())},
		{Name: "p of the margin", Value: pValue(b.MarginP) + ", one-sided, of a loss of the margin or more"},
		{Name: "Pairs", Value: fmt.Sprintf("both passed %d, only this run %d, only the baseline %d, neither %d; %d not paired; exact McNemar p of no difference %s",
			b.Both, b.OnlyRun, b.OnlyBaseline, b.Neither, b.Unpaired, pValue(&b.P))},
	}
	for _, f := range []struct {
		name string
		ids  []string
	}{{"Differs in", b.Differs}, {"Broke", b.Broke}, {"Fixed", b.Fixed}} {
		if len(f.ids) > 0 {
			facts = append(facts, fact{Name: f.name, Value: some(f.ids)})
		}
	}
	return block{Facts: facts}
}

// listed is how many ids a list of them names.
const listed = 50

// some lists names, and how many there are more.
func some(names []string) string {
	var shown []string
	for _, n := range names[:min(listed, len(names))] {
		shown = append(shown, name(n))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// repeatBlocks shows what a run that asks each question several times knows.
func repeatBlocks(r *result.Repeats) []block {
	if r == nil {
		return nil
	}
	t := &table{Caption: fmt.Sprintf("%s, asked %d times each", count(r.Questions, "question"), r.K),
		Columns: columns("attempts k", ">pass@k", ">pass^k")}
	for _, at := range r.At {
		t.row(cells(fmt.Sprint(at.K), fmt.Sprintf("%.3f", at.PassAt), fmt.Sprintf("%.3f", at.PassHat))...)
	}
	var rates []string
	for _, rate := range r.Rates {
		rates = append(rates, fmt.Sprintf("%.3f", rate))
	}
	facts := []fact{
		{Name: "Passed each time", Value: count(r.Stable, "question")},
		{Name: "Never passed", Value: count(r.Never, "question")},
		{Name: "Flaky", Value: count(len(r.Flaky), "question")},
		{Name: "Rate of each repeat", Value: strings.Join(rates, ", ")},
		{Name: "Variance", Value: fmt.Sprintf("%s between questions, %s between repeats of a question", number(r.QuestionVariance), number(r.RunVariance))},
	}
	out := []block{{Table: t}, {Facts: facts}}
	if len(r.Flaky) > 0 {
		t := &table{Caption: "Flaky questions, which passed some of their repeats", Columns: columns("question", ">passed", ">asked")}
		for _, q := range r.Flaky[:min(listed, len(r.Flaky))] {
			t.row(cells(name(q.ID), fmt.Sprint(q.Passed), fmt.Sprint(q.Asked))...)
		}
		out = append(out, block{Table: t})
		if more := len(r.Flaky) - listed; more > 0 {
			out = append(out, block{Text: fmt.Sprintf("and %d more, see the result file", more)})
		}
	}
	return out
}
