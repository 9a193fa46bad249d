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

// Replay is what the arms of a replay, or the targets of a run, measured, and how several compare with
// each other.
type Replay struct {
	Arms
	// Compared is nil if the arms were not compared.
	Compared *compare.Arms
}

// reports returns how the arms compare, the verdict on each, and their figures side by side.
func (r Replay) reports() (out []*form.Report) {
	if r.Compared != nil {
		out = append(out, ArmComparison{r.Compared, r.Arms}.report())
	}
	arms := r.Arms.reports()
	if len(arms) < 2 {
		return append(out, arms...)
	}
	for _, arm := range arms {
		out = append(out, &form.Report{Verdict: arm.Verdict})
	}
	return append(out, r.sideBySide()...)
}

// text prints the gain of memory over baselines, the findings of one arm after the other, and then
// the comparison.
func (r Replay) text(t *terminal.Terminal) {
	if len(r.Arms) > 1 {
		t.Blank()
	}
	if r.Compared != nil && len(r.Compared.Lead()) > 0 && !t.Quiet() {
		s := form.Section{}
		s.Show(form.Terminal, form.Sentences(dataOf(r.Compared.Lead())))
		s.Text(t)
		t.Blank()
	}
	for _, a := range r.Arms {
		if len(r.Arms) > 1 && !t.Quiet() {
			fmt.Fprintf(t, "  == %s ==\n", terminal.Line(a.Name))
		}
		if a.Run == nil {
			t.Field("failed", "%s", terminal.Short(a.Problem, maxFailure))
			continue
		}
		a.report().Text(t)
		if a.Problem != "" && len(r.Arms) > 1 {
			t.Field("failed", "%s", terminal.Short(a.Problem, maxFailure))
		}
		t.Blank()
	}
	if r.Compared == nil || t.Quiet() {
		return
	}
	fmt.Fprintln(t, "  == comparison ==")
	s := form.Section{}
	s.Show(form.Terminal, form.Sentences(dataOf(r.Compared.Others())))
	s.Show(form.Terminal, form.Gap{})
	r.overview(&s)
	s.Text(t)
	if r.Compared.Comparison != nil {
		t.Blank()
		(&form.Report{Sections: Comparison{r.Compared.Comparison}.sections()}).Text(t)
	}
}

// maxFailure limits the printed error of an arm, in characters.
const maxFailure = 400

// overview adds the arms side by side.
func (a Arms) overview(s *form.Section) {
	columns := []any{"arm", ">n", ">pass", ">rate", ">95% Wilson", ">FP/FN", ">recall", ">any", ">p50", ">p50 alone", ">spent", ">list cost", "|>per correct answer"}
	const alone = 9 // the column
	if !slices.ContainsFunc(a, func(a Arm) bool { return a.alone() != nil }) {
		columns = slices.Delete(columns, alone, alone+1)
	}
	t := form.NewTable(form.F("The arms side by side"), columns...)
	var together *result.Together
	for _, a := range a {
		row := []any{form.Name(a.Name)}
		if a.Run != nil && a.Run.Result.PassRate != nil {
			res := &a.Run.Result
			recall, anyGold, spent, list, each := none, none, none, none, form.F(none)
			passRate, interval := figure.Rate(res.PassRate), wording.Ends(res.Interval)
			if !a.Run.scored() {
				passRate, interval = none, none
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

// ArmComparison is the comparison of a replay's arms: the figures for a Markdown page that has the
// sentences of compare.Arms.Sentences elsewhere.
type ArmComparison struct {
	*compare.Arms
	// Of are the arms side by side, nil for the comparison alone.
	Of Arms
}

func (ArmComparison) suites() []suite           { return nil }
func (ArmComparison) annotations() []annotation { return nil }

func (c ArmComparison) reports() []*form.Report { return []*form.Report{{Sections: c.sections()}} }

// sections returns the figures of the comparison.
func (c ArmComparison) sections() []form.Section {
	s := form.Section{ID: "arms", Title: "Arms"}
	if len(c.Of) > 0 {
		c.Of.pareto(&s)
		c.Of.overview(&s)
	}
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

// Headline says in a few words how the arms compare.
func (c ArmComparison) Headline() form.Text {
	switch {
	case c.Comparison != nil:
		return Comparison{c.Comparison}.verdict().Headline
	case c.Refused != nil:
		return form.F("Not comparable, so there is no ranking")
	}
	return form.F("Not compared")
}

// refused returns a table of the differences because of which the arms are not compared.
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

// report returns the comparison as a report of its own.
func (c ArmComparison) report() *form.Report {
	r := &form.Report{Sections: c.sections(), Verdict: form.Verdict{Tone: form.Doubt, Mark: "≠", Word: "Not comparable"}}
	switch {
	case c.Comparison != nil:
		r.Verdict = Comparison{c.Comparison}.verdict()
	case c.Refused == nil:
		r.Verdict.Tone, r.Verdict.Mark, r.Verdict.Word = form.None, "–", "Not compared"
	}
	r.Verdict.Title = form.F("Comparison of %s", form.Join(", ", form.Names(c.Names)...))
	r.Verdict.Headline, r.Verdict.Sentences = r.Verdict.Title, dataOf(c.Sentences())
	return r
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
	var accept []string
	intersect := false
	for _, name := range e.Differing {
		if slices.Contains(key.OfQuestions(), name) {
			intersect = true
		} else {
			accept = append(accept, name)
		}
	}
	var flags []string
	if intersect {
		flags = append(flags, "--intersect")
	}
	if len(accept) > 0 {
		flags = append(flags, "--accept "+strings.Join(accept, ","))
	}
	fmt.Fprintf(t, "  If that is the comparison you want, add %s", strings.Join(flags, " "))
	if intersect {
		fmt.Fprintf(t, " (%s in common)", figure.Count(e.Common, "question"))
	}
	fmt.Fprint(t, ".\n\n")
}
