package report

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/key"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
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

// reports returns how the arms compare, a report of each arm, and what they have in common.
func (r Replay) reports() []*form.Report {
	arms, out := r.Arms.reports(), []*form.Report{}
	if r.Compared != nil {
		out = append(out, ArmComparison{r.Compared, r.Arms}.report())
	}
	out = append(out, arms...)
	if len(arms) < 2 {
		return out
	}
	for i := range r.Arms {
		if r.Arms[i].Run != nil {
			arms[i].Sections = slices.Delete(arms[i].Sections, failuresAt, failuresAt+1)
		}
	}
	all := form.Section{}
	for _, f := range r.common(arms) {
		all.FactIn(form.Markdown, f.Name, "%s", f.Value)
	}
	ids, lost := r.lost()
	all.Show(form.Markdown, form.List{
		Title: fmt.Sprintf("Questions that an arm did not pass: %d", len(ids)), N: len(ids), More: "the result files",
		Item: func(i int) form.Item { return r.item(lost[ids[i]]) },
	})
	return append(out, &form.Report{Verdict: form.Verdict{Headline: form.F("All arms")}, Sections: []form.Section{all}})
}

// common takes what all arms with a result ran with from their reports, if there are several.
func (r Replay) common(arms []*form.Report) (common form.Facts) {
	seen, runs := map[string]int{}, 0
	facts := func(do func(*form.Facts)) {
		for _, arm := range arms {
			for i := range arm.Sections {
				if arm.Sections[i].ID != "ran" {
					continue
				}
				for j, b := range arm.Sections[i].Blocks {
					if list, ok := b.Content.(form.Facts); ok {
						do(&list)
						arm.Sections[i].Blocks[j].Content = list
					}
				}
			}
		}
	}
	facts(func(list *form.Facts) {
		runs++
		for _, f := range *list {
			seen[f.Name+f.Value.String()]++
		}
	})
	facts(func(list *form.Facts) {
		*list = slices.DeleteFunc(*list, func(f form.Fact) bool {
			n := seen[f.Name+f.Value.String()]
			if n == runs && runs > 1 {
				common = append(common, f)
				seen[f.Name+f.Value.String()] = -1
			}
			return n < 0 || n == runs && runs > 1
		})
	})
	return common
}

// lost returns the names of the questions that some arm did not pass, in the order of the first
// arms, and by name the record of each arm, nil for an arm that has not asked the question.
func (r Replay) lost() (names []string, records map[string][]*result.Record) {
	records = map[string][]*result.Record{}
	var all []string
	for i, a := range r.Arms {
		if a.Run == nil {
			continue
		}
		for q := range a.Run.Questions {
			rec := &a.Run.Questions[q]
			name := caseName(rec)
			if records[name] == nil {
				records[name] = make([]*result.Record, len(r.Arms))
				all = append(all, name)
			}
			records[name][i] = rec
		}
	}
	for _, name := range all {
		if slices.ContainsFunc(records[name], func(rec *result.Record) bool { return rec != nil && isLost(rec) }) {
			names = append(names, name)
		}
	}
	return names, records
}

// item returns a question that some arm did not pass as an item of a list: what was asked once, and
// what became of it in each arm.
func (r Replay) item(records []*result.Record) form.Item {
	first := slices.IndexFunc(records, func(rec *result.Record) bool { return rec != nil && isLost(rec) })
	asked := slices.DeleteFunc(r.Arms[first].Run.parts(records[first]), func(p part) bool {
		return p.what != "question" && p.what != "expected"
	})
	item := form.Item{Head: form.F("%s %s", form.Name(caseName(records[first])), form.Name(group(records[first]))), Below: factsOf(asked)}
	for i, rec := range records {
		if r.Arms[i].Run == nil {
			continue
		}
		words := []form.Text{form.F("not asked")}
		switch {
		case rec == nil:
		case rec.Passed:
			words[0] = form.F("passed")
		case !isLost(rec):
			words[0] = form.F("%s", form.Name(rec.Outcome))
		default:
			words[0] = form.Toned(form.Bad, outcomeWord(rec))
			for _, p := range r.Arms[i].Run.parts(rec) {
				if !slices.Contains(asked, p) {
					words = append(words, form.F("%s: %s", p.what, form.Data(p.text)))
				}
			}
		}
		item.Below = append(item.Below, form.Fact{Value: form.F("%s: %s", form.Name(r.Arms[i].Name), form.Join("; ", words...)), In: form.Everywhere})
	}
	return item
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
			passRate, interval := figure.Rate(res.PassRate), res.Interval.Ends()
			if !a.Run.scored() {
				passRate, interval = none, none
			}
			if res.Retrieval != nil {
				k := res.Identity.TopK
				recall, anyGold = metricAt(res.Retrieval.Macro, fmt.Sprintf("recall@%d", k)), metricAt(res.Retrieval.Macro, fmt.Sprintf("any@%d", k))
			}
			if c := res.CostAccounting; c != nil {
				spent, list = res.Amount(), "unknown"
				if !res.Unmetered() {
					list, each = c.ListText(), form.Join("", perCorrect(c)...)
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
		s.Fact("latency", "%s", form.Data(together.Text()))
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
	return append([]form.Section{s}, Comparison{c.Comparison}.sections()...)
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
