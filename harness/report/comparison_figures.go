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
)

// measures adds the differences of scores and of retrieval. A terminal shows differences from the
// first run, if a question differs.
func (c Comparison) measures(s *form.Section) {
	columns := []any{"mean of", ">pair", ">n", ">this", ">other", ">difference", ">p, Holm", ">"}
	caption := form.F("Differences of means")
	t, pages := form.NewTable(caption, columns...), pairRows{columns: columns}
	for _, p := range c.Pairs {
		for _, m := range p.Measures {
			row := []any{form.Name(m.Name), c.pair(p.Run, p.Reference), m.N, fmt.Sprintf("%.3f", m.RunMean), fmt.Sprintf("%.3f", m.ReferenceMean),
				meanWithin(m), probabilities(m.P, &m.Adjusted), c.verdictCell(m.Verdict)}
			pages.add(m.Verdict, m.Difference, row...)
			if p.Reference == 0 && c.seen(m) {
				t.Row(row...)
			}
		}
	}
	if len(pages.rows) == 0 {
		return
	}
	byName := func(x, y form.Row) int { return strings.Compare(x.Cells[0].Text.String(), y.Cells[0].Text.String()) }
	slices.SortStableFunc(t.Rows, byName)
	in := form.Pages
	if len(t.Rows) > 0 {
		in = form.Everywhere
		s.Show(form.Terminal, form.Gap{})
		s.Show(form.Terminal, t)
	}
	slices.SortStableFunc(pages.rows, func(x, y pairRow) int {
		return strings.Compare(fmt.Sprint(x.cells[0]), fmt.Sprint(y.cells[0]))
	})
	pages.in(s, form.Pages, caption, "scores and retrieval")
	s.FactIn(in, "methods", "p: sign flips of %s, %d resamples, seed %d, adjusted by Holm %s; intervals: what the test does not reject",
		c.units(), c.Resamples, c.Seed, c.overOthers())
}

// seen reports whether a question differs in a measure.
func (c Comparison) seen(m compare.MeasureDifference) bool {
	if m.Interval == nil {
		return c.ClusterTag != "" && m.Difference != 0
	}
	return m.Interval.Low != 0 || m.Interval.High != 0
}

// latencies adds the ratios of latencies. A terminal shows the ratios to the first side, Markdown
// only shown differences.
func (c Comparison) latencies(s *form.Section) {
	others := 0
	defer func() {
		if others > 0 {
			s.FactIn(form.Markdown, "latency", "%s without a difference shown", figure.Count(others, "ratio"))
		}
	}()
	for _, p := range c.Pairs {
		for _, l := range p.Latencies {
			in, test := form.Terminal|form.HTML, ""
			if p.Reference > 0 {
				in = form.HTML
			}
			if isShown(l.Verdict) {
				in |= form.Markdown
			} else {
				others++
			}
			name, known := compare.LatencyName(l.Name)
			latency := form.F("%s", name)
			if !known {
				latency = form.F("%s", form.Name(l.Name))
			}
			of := "answering attempts"
			if l.Name == "felt" {
				of = "as the callers felt them"
			}
			if l.Adjusted != nil && l.P != nil {
				test = "p " + probabilities(*l.P, l.Adjusted) + "  "
			}
			verdict := form.F("%s %s", l.Verdict.Mark(), l.Verdict.Words())
			if l.Verdict == compare.Better || l.Verdict == compare.Worse {
				verdict = form.Toned(map[bool]form.Tone{true: form.Good, false: form.Bad}[l.Verdict == compare.Better], l.Verdict.Speed())
			}
			s.FactIn(in, "latency", "%s  %s  p50 %s vs %s  ×%.2f, %s  %s%s  (n=%d, %s)", c.pair(p.Run, p.Reference), latency,
				figure.Duration(l.RunP50), figure.Duration(l.ReferenceP50), l.Ratio, l.Within(), test, verdict, l.N, of)
		}
	}
}

// tagsShown limits the tags on a terminal. The other forms show all.
const tagsShown = 20

// tags adds the pass rates by tag, and their differences from the first run. Pages have the figures
// of each pair.
func (c Comparison) tags(s *form.Section) {
	if len(c.Tags) == 0 {
		return
	}
	columns := []any{"tag", ">n"}
	for i := range c.Runs {
		columns = append(columns, form.Column{Name: form.F("%s", c.run(i)), Number: true, In: form.Everywhere})
	}
	t := form.NewTable(form.F("Pass rates by tag"), columns...)
	t.Most = tagsShown
	most := 0.05
	for _, tag := range c.Tags {
		row := []any{form.Name(tag.Title()), tag.Questions}
		for i, n := range tag.Counts {
			cell := form.F("%s", figure.Rate(n.PassRate()))
			p := slices.IndexFunc(tag.Pairs, func(p compare.TagPair) bool { return p.Reference == 0 && p.Run == i })
			if p >= 0 {
				cell = form.F("%s %s", cell, c.tagVerdict(tag.Pairs[p].Verdict))
			}
			row = append(row, cell)
		}
		for len(row) < len(columns) {
			row = append(row, "–")
		}
		t.RowIn(form.Terminal, row...)
		for _, p := range tag.Pairs {
			most = max(most, widest(p.Difference, p.Interval))
		}
	}
	s.Show(form.Terminal, form.Gap{})
	s.Show(form.Terminal, t)
	more := ""
	if n := len(c.Tags) - tagsShown; n > 0 {
		more = fmt.Sprintf("  %s not shown: --tag compares one, --format json has all", figure.Count(n, "tag"))
	}
	s.FactIn(form.Terminal, "by tag", "against %s; p by the same test, adjusted by Holm %s; ~ is no difference shown%s",
		c.run(0), c.overOthers(), more)
	pairs := pairRows{columns: []any{"tag", "runs", ">n", ">difference", "#" + scale(most), ">only this / only other", ">p", "verdict"}}
	for _, tag := range c.Tags {
		for _, p := range tag.Pairs {
			cells := tableCells(p.Table)
			pairs.add(p.Verdict, value(p.Difference), form.Name(tag.Title()), c.pair(p.Run, p.Reference), p.N,
				cells[0], differenceBar(p.Table, most), cells[1], cells[2], c.verdictCell(p.Verdict))
		}
	}
	caption := form.F("Differences by tag, with intervals at the level of their test; p by the same test, adjusted by Holm %s", c.overOthers())
	pairs.in(s, form.Pages, caption, "tags and pairs")
}

func (c Comparison) tagVerdict(v compare.Verdict) form.Text {
	if v == compare.NotSeen {
		return form.F("%s", v.Mark())
	}
	cell := c.verdictCell(v)
	return form.Toned(cell.Tone, v.Mark()+" "+v.Words())
}

// units names the units whose signs a test flips.
func (c Comparison) units() form.Text {
	if c.ClusterTag == "" {
		return form.F("questions")
	}
	return form.F("clusters by %s", form.Name(c.ClusterTag))
}

// overOthers names the family of tests over which non-primary measures are adjusted.
func (c Comparison) overOthers() string {
	if c.OtherTests == 1 {
		return "over the other test"
	}
	return "over all " + figure.Count(c.OtherTests, "other test")
}

// keys shows whether the runs measured the same thing.
func (c Comparison) keys() *form.Table {
	t := form.NewTable(form.F("What was measured"), append([]any{"", "state"}, c.columns()...)...)
	for _, k := range c.Keys {
		state := form.Cell{Mark: "✓", Tone: form.Good, Text: form.F("same")}
		switch {
		case k.State == key.NotRecorded && k.Accepted:
			state = form.Cell{Mark: "?", Tone: form.Doubt, Text: form.F("not recorded, accepted")}
		case k.State == key.NotRecorded:
			state = form.Cell{Mark: "?", Tone: form.None, Text: form.F("not recorded")}
		case k.State == key.Differs && !k.Matters:
			state = form.Cell{Mark: "≠", Tone: form.None, Text: form.F("differs, as may be")}
		case k.State == key.Differs && k.Accepted:
			state = form.Cell{Mark: "≠", Tone: form.Doubt, Text: form.F("differs, accepted")}
		case k.State == key.Differs:
			state = form.Cell{Mark: "✗", Tone: form.Bad, Text: form.F("differs")}
		}
		if k.Note != "" {
			state.Text = form.F("%s: %s", state.Text, form.Data(k.Note))
		}
		row := []any{form.Name(k.Name), state}
		for _, v := range k.Values {
			row = append(row, form.Name(v))
		}
		t.Row(row...)
	}
	return t
}

func (c Comparison) columns() (out []any) {
	for i := range c.Runs {
		out = append(out, form.F("%s", c.run(i)))
	}
	return out
}

// differing lists the questions on which the runs disagree.
func (c Comparison) differing() *form.Table {
	t := form.NewTable(form.F("%s on which the runs disagree", figure.Count(len(c.Differing), "question")), append([]any{"question", "text"}, c.columns()...)...)
	for _, q := range c.Differing {
		row := []any{form.Name(q.ID), form.Data(q.Question)}
		for _, a := range q.Answers {
			row = append(row, answered(a))
		}
		t.Row(row...)
	}
	return t
}

// differingList is differing as a folded list of the first questions.
func (c Comparison) differingList() form.List {
	return form.List{
		Title: fmt.Sprintf("Questions on which the runs disagree: %d", len(c.Differing)), N: len(c.Differing), Folded: listedLost,
		More: form.F("the result files; evalctl compare --question=ID shows one"),
		Item: func(i int) form.Item {
			q := &c.Differing[i]
			item := form.Item{Head: form.F("%s %s", form.Name(q.ID), form.Data(q.Question))}
			for run, a := range q.Answers {
				cell := answered(a)
				item.Below = append(item.Below, form.Fact{Value: form.F("%s: %s", c.run(run), form.Toned(cell.Tone, cell.Text.String())), In: form.Everywhere})
			}
			return item
		},
	}
}

// severalRuns reports whether a side has several runs.
func (c Comparison) severalRuns() bool {
	return slices.ContainsFunc(c.Runs, func(r compare.RunFigures) bool { return len(r.Files) > 1 })
}

// answered formats the outcome of a question in a run.
func answered(a compare.QuestionOutcome) form.Cell {
	out := form.Cell{Mark: "✗", Tone: form.Bad, Text: form.F("fail")}
	switch {
	case a.Asked > 1:
		out = form.Cell{Text: form.F("%d of %d passed", a.Passed, a.Asked)}
		switch a.Passed {
		case a.Asked:
			out.Mark, out.Tone = "✓", form.Good
		case 0:
			out.Mark, out.Tone = "✗", form.Bad
		}
	case a.Passed > 0:
		out = form.Cell{Mark: "✓", Tone: form.Good, Text: form.F("pass")}
	case a.Outcome != result.Scored:
		out = form.Cell{Mark: "!", Tone: form.Bad, Text: form.F("%s", form.Name(a.Outcome))}
	}
	if a.Score != nil {
		out.Text = form.F("%s (%.3g)", out.Text, *a.Score)
	}
	return out
}

// how describes how the figures of a comparison were computed, and from which files.
func (c Comparison) how() form.Section {
	s := methodFacts{Section: form.Section{ID: "how", Title: "How each number was computed", Folded: true}}
	test := "Exact McNemar test, two-sided: with b and c questions that only one of the runs passed, " +
		"twice the probability of at most min(b, c) heads in b + c tosses of a coin, at most 1."
	switch {
	case c.ClusterTag != "":
		test = "Sign-flip test of the differences of whole clusters, two-sided: the share of all assignments of signs to the " +
			"clusters whose sum is at least as far from 0. Above 14 clusters they are random ones."
	case c.Repeated:
		test = "Sign-flip test of the mean difference of the questions' pass rates, two-sided."
	}
	if c.severalRuns() {
		test += " With several runs of a side, the larger p of that test and of a t test counts whose variance is the one of questions and runs (two-way)."
	}
	s.FactIn(form.HTML, "pairs", "Runs are compared question by question. An error is a verdict: not passed. Pairs without a score are left out.")
	s.FactIn(form.HTML, "test", "%s", test)
	s.FactIn(form.HTML, "adjustment", "p-values of the primary measures (%s) are adjusted by Holm’s method over their tests, all others over all others. "+
		"A difference of a primary measure is shown if the adjusted one is below 0.05, another if it is below 0.05 and a primary measure of these runs differs, "+
		"or below 0.005: so equal systems get any verdict in 5.5 %% of comparisons at most. An interval is at the level at which Holm’s method decides its test.", c.PrimaryText())
	if c.Resamples > 0 {
		s.FactIn(form.HTML, "resampling", "%d resamples with seed %d", c.Resamples, c.Seed)
	}
	s.addComparison(c.Comparison)
	for _, r := range c.Runs {
		files := r.Files
		if len(files) == 0 && r.SHA256 != "" {
			files = []compare.File{{Path: r.Path, SHA256: r.SHA256}}
		}
		for _, f := range files {
			s.FactIn(form.HTML, "SHA-256", "%s %s", form.Path(f.Path), form.Name(f.SHA256))
		}
	}
	s.FactIn(form.HTML, "ids that are compared", "%s", form.Name(c.Questions.SHA256))
	return s.Section
}
