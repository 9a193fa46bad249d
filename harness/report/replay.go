package report

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Replay has the results of the arms of a replay, or of the targets of a run, and their comparison.
type Replay struct {
	Arms
	// Compared is nil if the arms were not compared.
	Compared *compare.Arms
}

// reports returns how the arms compare, the verdict on each, and their figures.
func (r Replay) reports() []*form.Report { return append(r.verdicts(), r.figures()...) }

// Verdicts is the first part of a Replay: how the arms compare, and the verdict on each.
type Verdicts struct{ Replay }

func (v Verdicts) reports() []*form.Report { return v.verdicts() }

// Figures is the second part of a Replay: the figures of the comparison and of each arm.
type Figures struct{ Replay }

func (f Figures) reports() []*form.Report { return f.figures() }

func (r Replay) verdicts() (out []*form.Report) {
	if r.Compared != nil {
		c := armComparison{r.Compared, r.Arms}
		out = append(out, &form.Report{Verdict: form.Verdict{Headline: c.headline(), Sentences: dataOf(c.Sentences())}})
	}
	for i := range r.Arms {
		out = append(out, &form.Report{Verdict: r.Arms[i].verdict()})
	}
	return out
}

// figures returns the figures of the arms with a result, side by side if there are several.
func (r Replay) figures() []*form.Report {
	measured := slices.DeleteFunc(slices.Clone(r.Arms), func(a Arm) bool { return a.Run == nil })
	if len(measured) == 1 {
		arm := measured[0].report()
		arm.Verdict = form.Verdict{Headline: form.F("Figures of %s", form.Name(measured[0].Name))}
		return []*form.Report{arm}
	}
	out := measured.sideBySide()
	if r.Compared != nil && len(measured) > 1 {
		c := armComparison{r.Compared, r.Arms}
		out = append([]*form.Report{{Verdict: form.Verdict{Headline: c.title()}, Sections: c.sections()}}, out...)
	}
	return out
}

// page returns the page of the comparison, or of the first arm if there is none.
func (r Replay) page() *form.Report {
	if r.Compared == nil {
		return r.Arms.reports()[0]
	}
	return armComparison{r.Compared, r.Arms}.report()
}

// text prints the gain of memory over baselines, the findings of one arm after the other, and then
// the comparison.
func (r Replay) text(t *terminal.Terminal) {
	if t.Quiet() {
		return
	}
	several := len(r.Arms) > 1
	if several {
		t.Blank()
	}
	if r.Compared != nil && len(r.Compared.Lead()) > 0 {
		printSentences(t, r.Compared.Lead())
	}
	for _, a := range r.Arms {
		if several {
			fmt.Fprintf(t, "  == %s ==\n", terminal.Line(a.Name))
		}
		if a.Run == nil {
			t.Field("failed", "%s", terminal.Short(a.Problem, maxFailure))
			continue
		}
		a.report().Text(t)
		if a.Problem != "" && several {
			t.Field("failed", "%s", terminal.Short(a.Problem, maxFailure))
		}
		t.Blank()
	}
	if r.Compared != nil {
		fmt.Fprintln(t, "  == comparison ==")
		printSentences(t, r.Compared.Others())
		(&form.Report{Sections: armComparison{r.Compared, r.Arms}.sections()}).Text(t)
	}
}

// printSentences prints sentences and an empty line.
func printSentences(t *terminal.Terminal, sentences []string) {
	s := form.Section{}
	s.Show(form.Terminal, form.Sentences(dataOf(sentences)))
	s.Show(form.Terminal, form.Gap{})
	s.Text(t)
}

// maxFailure limits the printed error of an arm, in characters.
const maxFailure = 400

// overview adds the arms side by side.
func (a Arms) overview(s *form.Section) {
	columns := []any{"arm", ">n", ">pass", ">rate", ">95% CI", ">FP/FN", ">recall", ">any", ">p50", ">p50 alone", ">spent", ">list cost", "|>per correct answer"}
	const alone = 9 // the column
	if !slices.ContainsFunc(a, func(a Arm) bool { return a.alone() != nil }) {
		columns = slices.Delete(columns, alone, alone+1)
	}
	t := form.NewTable(form.F("The arms side by side"), columns...)
	var together *result.Together
	var shown []*result.Interval
	for _, a := range a {
		row := []any{form.Name(a.Name)}
		if a.Run != nil && a.Run.Result.PassRate != nil {
			res := &a.Run.Result
			recall, anyGold, spent, list, each := none, none, none, none, form.F(none)
			passRate, interval := figure.Rate(res.PassRate), wording.Ends(res.Believed())
			if !a.Run.scored() {
				passRate, interval = none, none
			} else {
				shown = append(shown, res.Believed())
			}
			if res.Retrieval != nil {
				k := res.Identity.TopK
				recall, anyGold = metricAt(res.Retrieval.Macro, fmt.Sprintf("recall@%d", k)), metricAt(res.Retrieval.Macro, fmt.Sprintf("any@%d", k))
			}
			if c := res.CostAccounting; c != nil {
				spent, list = wording.Amount(res), "unknown"
				if !res.Unmetered() {
					list, each = wording.ListCost(c), form.Join("", perCorrect(c)...)
				}
			}
			row = append(row, res.Total, res.Passed, passRate, interval, misjudged(res.Replay), recall, anyGold, median(&res.Latency))
			if len(columns) > alone+3 {
				cell := none
				if l := a.alone(); l != nil {
					cell = median(&l.Latency)
				}
				row = append(row, cell)
			}
			row = append(row, spent, list, each)
			if res.Replay != nil && res.Replay.Together != nil {
				together = res.Replay.Together
			}
		}
		for len(row) < len(columns) {
			row = append(row, none)
		}
		t.Row(row...)
	}
	s.Show(form.Everywhere, t)
	intervalMethods(s, form.Everywhere, shown)
	if together != nil {
		s.FactIn(form.Terminal|form.HTML, "latency", "%s", form.Data(togetherText(together))) // in Markdown each arm says so
	}
}

// alone returns the measurement of an arm alone, nil for none.
func (a Arm) alone() *result.Alone {
	if a.Run == nil || a.Run.Result.Replay == nil {
		return nil
	}
	return a.Run.Result.Replay.Alone
}

// median formats the median of latencies, or the number of latencies that it needs.
func median(q *result.Quantiles) string {
	switch {
	case q.P50 != nil:
		return figure.Duration(*q.P50)
	case q.N > 0:
		return fmt.Sprintf("n<%d", result.NeededForP50)
	}
	return none
}

// misjudged formats the rates of false positives and false negatives among the controls.
func misjudged(r *result.Replay) string {
	if r == nil || r.Controls == nil || r.Controls.FalsePositiveRate == nil || r.Controls.FalseNegativeRate == nil {
		return none
	}
	return fmt.Sprintf("%.2f/%.2f", *r.Controls.FalsePositiveRate, *r.Controls.FalseNegativeRate)
}

// armComparison is the comparison of a replay's arms.
type armComparison struct {
	*compare.Arms
	runs Arms
}

// sections returns the figures of the comparison.
func (c armComparison) sections() []form.Section {
	s := form.Section{ID: "arms", Title: "Arms"}
	c.runs.pareto(&s)
	c.runs.overview(&s)
	names := []any{"what was seen"}
	for _, n := range c.Names {
		names = append(names, form.Name(n))
	}
	t := form.NewTable(form.F("What was seen of the arms besides their results"), names...)
	for _, f := range c.Facts {
		if !f.Recorded() {
			continue
		}
		row := []any{f.Name}
		for _, v := range f.Values {
			row = append(row, form.Name(v))
		}
		t.Row(row...)
	}
	s.Show(form.Pages, t)
	if c.Refused != nil {
		s.Show(form.HTML, refused(c.Refused))
	}
	if c.Comparison == nil {
		return []form.Section{s}
	}
	s.Show(form.Terminal, form.Gap{})
	sections := append([]form.Section{s}, Comparison{c.Comparison}.sections()...)
	for i := range sections {
		if sections[i].ID == differingID { // the page lists them with the other questions that were lost
			for j := range sections[i].Blocks {
				sections[i].Blocks[j].In &^= form.Markdown
			}
		}
	}
	return sections
}

// headline says in a few words how the arms compare.
func (c armComparison) headline() form.Text {
	switch {
	case c.Comparison != nil:
		return Comparison{c.Comparison}.verdict().Headline
	case c.Refused != nil:
		return form.F("Not comparable, so there is no ranking")
	}
	return form.F("Not compared")
}

// refused returns a table of the differences that prevent a comparison.
func refused(e *key.IncomparableError) *form.Table {
	names := []any{"differs in"}
	for _, n := range e.Names {
		names = append(names, form.Name(n))
	}
	t := form.NewTable(form.F("Differences that were not accepted"), names...)
	for _, k := range e.Keys {
		if !slices.Contains(e.Differing, k.Name) {
			continue
		}
		row := []any{form.Name(k.Name)}
		for _, v := range k.Values {
			row = append(row, keyValue(v))
		}
		t.Row(row...)
	}
	return t
}

// report returns the page of the comparison.
func (c armComparison) report() *form.Report {
	r := &form.Report{Sections: c.sections(), Verdict: form.Verdict{Tone: form.Doubt, Mark: "≠", Word: "Not comparable"}}
	switch {
	case c.Comparison != nil:
		r.Verdict = Comparison{c.Comparison}.verdict()
	case c.Refused == nil:
		r.Verdict.Tone, r.Verdict.Mark, r.Verdict.Word = form.None, "–", "Not compared"
	}
	r.Verdict.Title, r.Verdict.Sentences = c.title(), dataOf(c.Sentences())
	return r
}

func (c armComparison) title() form.Text {
	return form.F("Comparison of %s", form.Join(", ", form.Names(c.Names)...))
}

// Incomparable prints the differences of results, and how to proceed.
func Incomparable(t *terminal.Terminal, e *key.IncomparableError) {
	s := form.Section{}
	s.Show(form.Terminal, refused(e))
	s.Text(t)
	if final := e.Final(); len(final) > 0 {
		fmt.Fprintf(t, "  Results that differ in %s are not compared, whatever is accepted.\n\n", strings.Join(final, ", "))
		return
	}
	flags := acceptFlags(e)
	fmt.Fprintf(t, "  If that is the comparison you want, add %s", strings.Join(flags, " "))
	if slices.Contains(flags, "--intersect") {
		fmt.Fprintf(t, " (%s in common)", figure.Count(e.Common, "question"))
	}
	fmt.Fprint(t, ".\n\n")
}
