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
	"evalctl/internal/figure"
	"evalctl/internal/svg"
	"evalctl/internal/terminal"
)

// reports returns the verdicts, what differs between the runs, and the figures.
func (c Comparison) reports() []*form.Report {
	r := &form.Report{Verdict: c.verdict()}
	if lead := c.MemorySentences(); len(lead) > 0 {
		s := form.Section{Place: form.First}
		s.Show(form.Terminal, form.Sentences(dataOf(lead)))
		s.Show(form.Terminal, form.Gap{})
		r.Sections = append(r.Sections, s)
	}
	r.Sections = append(r.Sections, c.sections()...)
	return []*form.Report{r}
}

// dataOf returns sentences with texts of others.
func dataOf(sentences []string) (out []form.Text) {
	for _, s := range sentences {
		out = append(out, form.F("%s", form.Data(s)))
	}
	return out
}

func (c Comparison) verdict() form.Verdict {
	worse, differ, pairs := 0, 0, figure.Count(len(c.Pairs), "pair")
	v := form.Verdict{Tone: form.None, Mark: "~", Word: "No difference shown", Title: form.F("Comparison of %s", c.names()), Sentences: dataOf(c.MemorySentences())}
	for i := range c.Pairs {
		if _, regression := c.verdictOn(&c.Pairs[i]); regression {
			worse++
		}
		if c.Pairs[i].Verdict != compare.NotSeen {
			differ++
		}
		v.Sentences = append(v.Sentences, form.F("%s", form.Data(c.sentence(&c.Pairs[i]))))
	}
	v.Headline = form.F("No difference shown in %s of runs", pairs)
	if differ > 0 {
		v.Mark, v.Word = "≠", "Difference shown"
		v.Headline = form.F("Difference shown in %d of %s of runs", differ, pairs)
	}
	switch {
	case worse > 0:
		v.Tone, v.Mark, v.Word = form.Bad, "✗", "Worse"
		v.Headline = form.F("Worse: %d of %s", worse, pairs)
	case c.Baseline != "":
		v.Headline = form.F("No regression shown in %s of runs", pairs)
	}
	return v
}

func (c Comparison) names() form.Text {
	var names []form.Name
	for i := range c.Runs {
		names = append(names, c.run(i))
	}
	return form.Join(", ", names...)
}

func (c Comparison) run(i int) form.Name { return form.Name(c.name(i)) }

// pair returns "py vs go".
func (c Comparison) pair(run, reference int) form.Text {
	return form.F("%s vs %s", c.run(run), c.run(reference))
}

// sections returns the figures of the comparison.
func (c Comparison) sections() []form.Section {
	s := form.Section{ID: "comparison", Title: "Comparison"}
	c.comparability(&s)
	s.Show(form.Terminal, form.Gap{})
	s.Show(form.Everywhere, c.pairTable())
	c.legend(&s)
	c.pairFacts(&s)
	c.disagreements(&s)
	c.measures(&s)
	c.latencies(&s)
	tags := form.Section{ID: "by-tag", Title: "Comparison by tag"}
	c.tags(&tags)
	for _, n := range c.Notes {
		tags.Note(form.Everywhere, "%s", form.Data(n))
	}
	out := []form.Section{s, tags, {ID: "differing", Title: "Disagreements"}, {ID: "comparable", Title: "Whether the runs are comparable"}, c.how()}
	out[2].Show(form.Pages, c.differing())
	out[3].Show(form.HTML, c.keys())
	return out
}

// shownKeys are those whose common value is shown.
var shownKeys = []string{
	"dataset", "scenario", "scorer", "judge", "judge_prompt", "mode", "effective_modes", "top_k", "reader", "corpus",
}

// comparability adds what the runs have in common and in what they differ.
func (c Comparison) comparability(s *form.Section) {
	same, unknown := []form.Text{form.F("%s", figure.Count(c.Questions.Compared, "question"))}, []string{}
	for _, name := range shownKeys {
		k := c.Key(name)
		switch {
		case k == nil:
		case k.Common() != "" && k.Common() != "none":
			same = append(same, form.F("%s %s", strings.ReplaceAll(name, "_", " "), keyValue(k.Common())))
		case k.State == compare.Unknown:
			unknown = append(unknown, name)
		}
	}
	s.Fact("comparable", "%s", form.Join("  ", same...))
	for _, k := range c.Keys {
		if k.State != compare.Differs {
			continue
		}
		text := form.F("%s:", form.Name(k.Name))
		for i, v := range k.Values {
			text = form.F("%s  %s %s", text, c.run(i), keyValue(v))
		}
		switch {
		case k.Accepted:
			text = form.F("%s  (accepted)", text)
		case k.Note != "":
			text = form.F("%s  (%s)", text, form.Data(k.Note))
		}
		s.Fact("differs", "%s", text)
	}
	if len(unknown) > 0 && len(unknown) < len(shownKeys) {
		s.Fact("unknown", "not recorded by two runs: %s", strings.Join(unknown, ", "))
	}
	for i, r := range c.Runs {
		if r.Selection != "" {
			s.FactIn(form.Pages, "selection", "%s: %s", c.run(i), form.Data(r.Selection))
		}
	}
}

// keyValue returns a value of a key.
func keyValue(v string) form.Name { return form.Name(compare.ValueText(v)) }

// pairTable has a row for each run, with its difference from the first, and one for each other pair.
func (c Comparison) pairTable() *form.Table {
	most := 0.05
	for _, p := range c.Pairs {
		most = max(most, widest(p.Table))
	}
	t := form.NewTable(form.F("Pass rates and their differences, with their 95%% intervals"), "", ">passed", ">pass rate", "#0 to 1", "|>errors", "|>unscored",
		form.Column{Name: form.F("vs %s", c.run(0)), Number: true, In: form.Everywhere}, "#"+scale(most), ">only this / only other", fmt.Sprintf(">p, Holm over %d", c.Tests), ">")
	for i, r := range c.Runs {
		name := form.F("%s", c.run(i))
		if n := len(r.Files); n > 0 {
			name = form.F("%s, %d runs", c.run(i), n)
		}
		row := []any{name, fmt.Sprintf("%d/%d", r.Counts.Passed, r.Counts.Total), rateWithin(r.PassRate, r.Interval), rateBar(r.PassRate, r.Interval, math.NaN()),
			r.Counts.Errors, r.Counts.Unscored}
		if i == 0 {
			t.Row(append(row, "", "", "", "", "")...)
			continue
		}
		p := slices.IndexFunc(c.Pairs, func(p compare.Pair) bool { return p.Reference == 0 && p.Run == i })
		t.Row(append(row, c.pairCells(&c.Pairs[p], most)...)...)
	}
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.Reference > 0 {
			t.Row(append([]any{c.pair(p.Run, p.Reference), "", "", "", "", ""}, c.pairCells(p, most)...)...)
		}
	}
	return t
}

// pairCells returns the difference, the disagreements, the p-values and the verdict.
func (c Comparison) pairCells(p *compare.Pair, most float64) []any {
	if p.Difference == nil {
		return []any{"–", "", "–", "–", "nothing to compare"}
	}
	return append(tableCells(p.Table, p.Margin, most), c.verdictCell(p.Verdict))
}

// tableCells returns the difference with its drawing, the disagreements and the p-values.
func tableCells(t compare.Table, margin *compare.MarginTest, most float64) []any {
	if t.Difference == nil {
		return []any{"–", "", "–", "–"}
	}
	p := "not tested"
	if t.P != nil {
		p = probabilities(*t.P, t.Adjusted)
	}
	return []any{pointsWithin(t), differenceBar(t, margin, most), fmt.Sprintf("%d / %d", t.OnlyRun, t.OnlyReference), p}
}

// probabilities returns a p-value and, behind an arrow, the adjusted one.
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
	return form.Cell{Text: form.F("%s", c.words(v)), Mark: v.Mark(), Tone: tone}
}

// widest returns the largest absolute end of the interval of a difference, as the scale of its drawing.
func widest(t compare.Table) float64 {
	if t.Interval == nil {
		return 0
	}
	return max(math.Abs(t.Interval.Low), math.Abs(t.Interval.High))
}

// scale names the ends of drawn differences.
func scale(most float64) string { return fmt.Sprintf("−%.0f to +%.0f pp", 100*most, 100*most) }

// differenceBar draws the difference of a pair.
func differenceBar(t compare.Table, margin *compare.MarginTest, most float64) form.Cell {
	if t.Difference == nil {
		return form.Cell{}
	}
	v, at := svg.Interval{Value: *t.Difference, Low: math.NaN(), High: math.NaN()}, math.NaN()
	if t.Interval != nil {
		v.Low, v.High = t.Interval.Low, t.Interval.High
	}
	if margin != nil {
		at = margin.Margin
	}
	return form.Cell{Bar: func() template.HTML { return svg.Difference(v, at, most) }}
}

// legend says how the figures of the table were computed.
func (c Comparison) legend(s *form.Section) {
	test, within := form.F("exact McNemar"), "Newcombe, paired"
	switch {
	case c.ClusterTag != "":
		test, within = c.clusterFlips(), "what the test does not reject"
	case c.Repeated:
		test, within = form.F("sign flips, seed %d", c.Seed), "t, paired by question"
	}
	s.Fact("methods", "95%% intervals: Wilson for rates; %s for differences, not adjusted  p: %s, adjusted by Holm over %s",
		within, test, figure.Count(c.Tests, "test"))
}

// clusterFlips describes the test of clusters. Pairs differ in their number of clusters if
// questions have no score.
func (c Comparison) clusterFlips() form.Text {
	var clusters []int
	resampled, exact := false, false
	for _, p := range c.Pairs {
		clusters = append(clusters, p.Clusters)
		resampled, exact = resampled || p.Resampled(), exact || p.Test == "sign_flip_clusters_exact"
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

// pairFacts adds the intervals that respect that questions are alike, and what the figures of a pair allow to
// conclude. A terminal shows what could have been seen of the largest difference that is not shown.
func (c Comparison) pairFacts(s *form.Section) {
	for i, r := range c.Runs {
		k := r.Clustered
		if k == nil || k.Interval == nil {
			continue
		}
		by := form.F("%s", form.Name(k.Tag))
		if k.Tag == "" {
			by = form.F("question, whose repeats are alike")
		}
		s.Fact("clustered", "%s  %s  95%% t interval over %s by %s", c.run(i), rateWithin(r.PassRate, k.Interval), figure.Count(k.Clusters, "cluster"), by)
	}
	var widest *compare.Pair
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if p.PowerText() != "" && (widest == nil || math.Abs(*p.Difference) > math.Abs(*widest.Difference)) {
			widest = p
		}
		if p.Unscored > 0 {
			s.FactIn(form.Pages, "left out", "%s: %s without a score in one of the runs", c.pair(p.Run, p.Reference), figure.Count(p.Unscored, "question"))
		}
		if p.Margin != nil {
			c.margin(s, p)
		}
		if text := p.RecipesText(); text != "" {
			s.Fact("recipes", "%s: %s", c.pair(p.Run, p.Reference), form.Data(text))
		}
	}
	for i := range c.Pairs {
		p, in := &c.Pairs[i], form.Pages
		if p == widest {
			in = form.Everywhere
		}
		if text := p.PowerText(); text != "" {
			s.FactIn(in, "power", "%s: %s", c.pair(p.Run, p.Reference), text)
		}
	}
}

func (c Comparison) margin(s *form.Section, p *compare.Pair) {
	m := p.Margin
	why := "no interval"
	if m.Interval != nil {
		why = fmt.Sprintf("the interval [%s %s] %s -%.1fpp", figure.Points(m.Interval.Low), figure.Points(m.Interval.High),
			map[result.BaselineVerdict]string{
				result.NotWorse: "is above", result.Worse: "is below", result.Unknown: "contains",
			}[m.Verdict], 100*m.Margin)
	}
	if m.P != nil {
		why += fmt.Sprintf("  one-sided p %s of a loss of %.1fpp or more", figure.Probability(*m.P), 100*m.Margin)
	}
	tone := map[result.BaselineVerdict]form.Tone{result.NotWorse: form.Good, result.Worse: form.Bad}[m.Verdict]
	s.Fact("margin", "%s  %s  %s", c.pair(p.Run, p.Reference), form.Toned(tone, strings.ToUpper(m.Verdict.Words())), why)
}

// idsShown is how many ids of a list a terminal shows. The other forms have all of them.
const idsShown = 12

// disagreements lists the questions that the first run passed and another did not, or the reverse.
func (c Comparison) disagreements(s *form.Section) {
	first := ""
	list := func(passed, failed int, ids []string) {
		if len(ids) == 0 {
			return
		}
		first = cmp.Or(first, ids[0])
		how := "%s passed, %s did not (%d): %s"
		if c.Repeated {
			how = "%s passed more often than %s (%d): %s"
		}
		s.FactIn(form.Terminal, "disagree", how, c.run(passed), c.run(failed), len(ids), someOf(ids, idsShown, " "))
	}
	for _, p := range c.Pairs {
		if p.Reference == 0 {
			list(0, p.Run, p.OnlyReferenceIDs)
			list(p.Run, 0, p.OnlyRunIDs)
		}
	}
	if first == "" {
		return
	}
	command := []string{"evalctl", "diff", first}
	for i := range c.Runs {
		command = append(command, c.Runs[i].Paths()...)
	}
	s.FactIn(form.Terminal, "", "%s", terminal.CommandLine(command...))
}

// someOf lists the first names, and how many there are more.
func someOf(names []string, most int, separator string) form.Text {
	text := form.Join(separator, form.Names(names[:min(len(names), most)])...)
	if more := len(names) - most; more > 0 {
		text = form.F("%s and %d more", text, more)
	}
	return text
}

// measures adds the differences of scores and of retrieval: for a terminal from the first run, if a question
// differs.
func (c Comparison) measures(s *form.Section) {
	t := form.NewTable(form.F("Differences of means"), "mean of", ">pair", ">n", ">this", ">other", ">difference, 95% CI", ">p, Holm", ">")
	for _, p := range c.Pairs {
		for _, m := range p.Measures {
			in, difference := form.Everywhere, fmt.Sprintf("%+.3f", m.Difference)
			if p.Reference > 0 || m.Interval == nil && (c.ClusterTag == "" || m.Difference == 0) || m.Interval != nil && m.Interval.Low == 0 && m.Interval.High == 0 {
				in = form.Pages
			}
			if m.Interval != nil {
				difference += fmt.Sprintf(" [%+.3f %+.3f]", m.Interval.Low, m.Interval.High)
			}
			t.RowIn(in, form.Name(m.Name), c.pair(p.Run, p.Reference), m.N, fmt.Sprintf("%.3f", m.RunMean), fmt.Sprintf("%.3f", m.ReferenceMean),
				difference, probabilities(m.P, &m.Adjusted), c.verdictCell(m.Verdict))
		}
	}
	slices.SortStableFunc(t.Rows, func(x, y form.Row) int { return strings.Compare(x.Cells[0].Text.String(), y.Cells[0].Text.String()) })
	in := form.Pages
	if slices.ContainsFunc(t.Rows, func(r form.Row) bool { return r.In == form.Everywhere }) {
		in = form.Everywhere
	}
	if len(t.Rows) == 0 {
		return
	}
	s.Show(in&form.Terminal, form.Gap{})
	s.Show(form.Everywhere, t)
	if c.ClusterTag != "" {
		s.FactIn(in, "methods", "intervals and p as for the pass rates, adjusted by Holm for each measure")
		return
	}
	s.FactIn(in, "methods", "95%% intervals: bootstrap over questions, %d resamples, seed %d  p: sign flips, adjusted by Holm for each measure",
		c.Resamples, c.Seed)
}

// latencies adds the ratios: for a terminal those to the first side. A note says why one is not judged.
func (c Comparison) latencies(s *form.Section) {
	for _, p := range c.Pairs {
		for _, l := range p.Latencies {
			in, test := form.Everywhere, ""
			if p.Reference > 0 {
				in = form.Pages
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

// tagsShown is how many tags a terminal shows. The other forms have all of them.
const tagsShown = 20

// tags adds the pass rates by tag, and how they differ from those of the first run; pages have the figures of
// each pair.
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
			cell := form.F("%s", rate(n.PassRate()))
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
			most = max(most, widest(p.Table))
		}
	}
	s.Show(form.Terminal, form.Gap{})
	s.Show(form.Terminal, t)
	more := ""
	if n := len(c.Tags) - tagsShown; n > 0 {
		more = fmt.Sprintf("  %s not shown: --tag compares one, --format json has all", figure.Count(n, "tag"))
	}
	s.FactIn(form.Terminal, "by tag", "against %s; p by the same test, adjusted by Holm over all %s of all tags; ~ is no difference shown%s",
		c.run(0), figure.Count(c.TagTests, "test"), more)
	pairs := form.NewTable(form.F("Differences by tag, with their 95%% intervals; p by the same test, adjusted by Holm over all %s of all tags", figure.Count(c.TagTests, "test")),
		"tag", "runs", ">n", ">difference", "#"+scale(most), ">only this / only other", ">p", "verdict")
	for _, tag := range c.Tags {
		for _, p := range tag.Pairs {
			pairs.Row(append(append([]any{form.Name(tag.Title()), c.pair(p.Run, p.Reference), p.N}, tableCells(p.Table, nil, most)...), c.verdictCell(p.Verdict))...)
		}
	}
	s.Show(form.Pages, pairs)
}

func (c Comparison) tagVerdict(v compare.Verdict) form.Text {
	if v == compare.NotSeen {
		return form.F("%s", v.Mark())
	}
	cell := c.verdictCell(v)
	return form.Toned(cell.Tone, v.Mark()+" "+c.words(v))
}

// keys says whether the runs measured the same thing.
func (c Comparison) keys() *form.Table {
	t := form.NewTable(form.F("What was measured"), append([]any{"", "state"}, c.columns()...)...)
	for _, k := range c.Keys {
		state := form.Cell{Mark: "✓", Tone: form.Good, Text: form.F("same")}
		switch {
		case k.State == compare.Unknown:
			state = form.Cell{Mark: "?", Tone: form.None, Text: form.F("not recorded")}
		case k.State == compare.Differs && !k.Matters:
			state = form.Cell{Mark: "≠", Tone: form.None, Text: form.F("differs, as may be")}
		case k.State == compare.Differs && k.Accepted:
			state = form.Cell{Mark: "≠", Tone: form.Doubt, Text: form.F("differs, accepted")}
		case k.State == compare.Differs:
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

// differing has the questions on which the runs disagree.
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

// answered says what became of a question in a run.
func answered(a compare.Answered) form.Cell {
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

// how says how the figures of a comparison were computed, and from what.
func (c Comparison) how() form.Section {
	s := methodFacts{Section: form.Section{ID: "how", Title: "How each number was computed"}}
	test := "Exact McNemar test, two-sided: with b and c questions that only one of the runs passed, " +
		"twice the probability of at most min(b, c) heads in b + c tosses of a coin, at most 1."
	switch {
	case c.ClusterTag != "":
		test = "Sign-flip test of the differences of whole clusters, two-sided: the share of all assignments of signs to the " +
			"clusters whose sum is at least as far from 0. Above 14 clusters they are random ones."
	case c.Repeated:
		test = "Sign-flip test of the mean difference of the questions' pass rates, two-sided."
	}
	s.FactIn(form.HTML, "pairs", "Runs are compared question by question. An error is a verdict: not passed. Pairs without a score are left out.")
	s.FactIn(form.HTML, "test", "%s", test)
	s.FactIn(form.HTML, "adjustment", "p-values are adjusted by Holm’s method over all tests of a table; a difference is shown if the adjusted one is below 0.05.")
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
