package page

import (
	"fmt"
	"math"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/svg"
)

// The most rows that a page has of what could be very many, and how much of a value is in a row.
const (
	valueLength  = 24
	maxDiffering = 500
	maxMatrices  = 6
)

// addComparison adds all sections of a comparison that is a page of its own.
func (d *document) addComparison(c *compare.Comparison) {
	d.Band = comparisonBand(c)
	var lead []string
	for _, sentence := range c.MemorySentences() {
		lead = append(lead, clean(sentence))
	}
	d.Band.More = append(lead, d.Band.More...)
	d.Title = d.Band.Heading
	d.addCompared(c)
}

// addCompared adds the sections of a comparison to a page whose head says what is compared.
func (d *document) addCompared(c *compare.Comparison) {
	for _, s := range comparisonSections(c, nil) {
		d.add(s)
	}
	var intervals intervalMethods
	intervals.addComparison(c)
	facts := append(comparisonMethods(c), intervals.facts...)
	for _, r := range c.Runs {
		files := r.Files
		if len(files) == 0 && r.SHA256 != "" {
			files = []compare.File{{Path: r.Path, SHA256: r.SHA256}}
		}
		for _, f := range files {
			facts = append(facts, fact{Name: "SHA-256 of " + name(f.Path), Value: name(f.SHA256), Code: true})
		}
	}
	facts = append(facts, fact{Name: "Ids that are compared", Value: name(c.Questions.SHA256), Code: true})
	d.add(section{ID: "how", Title: "How each number was computed", Blocks: []block{{Facts: facts}}})
}

func comparisonBand(c *compare.Comparison) band {
	var names []string
	for _, r := range c.Runs {
		names = append(names, name(r.Name))
	}
	b := band{Class: "none", Mark: "~", Word: "No difference shown", Heading: "Comparison of " + strings.Join(names, ", ")}
	var shown []string
	for _, p := range c.Pairs {
		if p.Verdict != compare.NotSeen {
			shown = append(shown, fmt.Sprintf("%s is %s than %s", name(c.Runs[p.Run].Name), p.Verdict.Words(), name(c.Runs[p.Reference].Name)))
		}
	}
	b.Sentence = fmt.Sprintf("over %s that all runs have, after adjustment for %s", count(c.Questions.Selected, "question"), count(c.Tests, "test"))
	if len(shown) > 0 {
		b.Mark, b.Word = "≠", count(len(shown), "difference")+" shown"
		b.More = shown
	}
	return b
}

// comparisonSections shows a comparison. Anchors has the places of questions that are on the same
// page, by id.
func comparisonSections(c *compare.Comparison, anchors map[string]int) []section {
	s := section{ID: "comparison", Title: "Comparison"}
	for _, note := range c.Notes {
		s.add(block{Text: clean(note)})
	}
	t := newRates("Runs, over the questions that are compared")
	for _, r := range c.Runs {
		label := name(r.Name)
		if n := len(r.Files); n > 0 {
			label += fmt.Sprintf(", %d runs", n)
		}
		t.add(label, r.Counts, r.PassRate, r.Interval, math.NaN())
	}
	s.add(block{Table: &t.table}, block{Table: pairTable(c)})
	for _, p := range c.Pairs {
		s.add(pairNotes(c, p)...)
	}
	s.add(measureBlocks(c)...)
	s.add(block{Table: keyTable(c)})
	out := []section{s}
	if m := matrixSection(c); len(m.Blocks) > 0 {
		out = append(out, m)
	}
	if len(c.Tags) > 0 {
		out = append(out, section{ID: "by-tag", Title: "Comparison by tag", Blocks: []block{{Table: tagTable(c)}}})
	}
	if len(c.Differing) > 0 {
		out = append(out, differingSection(c, anchors))
	}
	return out
}

// verdictCell returns a verdict with its sign.
func verdictCell(v compare.Verdict) cell {
	class := map[compare.Verdict]string{compare.Better: "pass", compare.Worse: "fail", compare.NotSeen: "none", compare.NotJudged: "none"}[v]
	return cell{Text: v.Words(), Mark: v.Mark(), Class: class + " whole"}
}

// widest returns the largest absolute end of the intervals of differences, at least 0.05, as the
// scale of their drawing.
func widest(tables ...compare.Table) float64 {
	most := 0.05
	for _, t := range tables {
		if t.Interval != nil {
			most = max(most, math.Abs(t.Interval.Low), math.Abs(t.Interval.High))
		}
	}
	return most
}

// scale names the ends of drawn differences.
func scale(most float64) string { return fmt.Sprintf("−%.0f to +%.0f pp", 100*most, 100*most) }

// differenceBar draws the difference of a pair.
func differenceBar(t compare.Table, margin *compare.MarginTest, most float64) cell {
	if t.Difference == nil {
		return cell{}
	}
	v, at := svg.Interval{Value: *t.Difference, Low: math.NaN(), High: math.NaN()}, math.NaN()
	if t.Interval != nil {
		v.Low, v.High = t.Interval.Low, t.Interval.High
	}
	if margin != nil {
		at = margin.Margin
	}
	return cell{Bar: svg.Difference(v, at, most)}
}

// pairOf names the runs of a pair: the run and what it is compared with.
func pairOf(c *compare.Comparison, run, reference int) string {
	return name(c.Runs[run].Name) + " vs " + name(c.Runs[reference].Name)
}

// withPairs returns the columns of a table with rows of several pairs: first, pair and the others.
// If there is only one pair its caption names it.
func withPairs(c *compare.Comparison, caption, first string, others ...string) *table {
	if len(c.Pairs) == 1 {
		caption += ": " + pairOf(c, c.Pairs[0].Run, c.Pairs[0].Reference)
		return &table{Caption: caption, Columns: columns(append([]string{first}, others...)...)}
	}
	return &table{Caption: caption, Columns: columns(append([]string{first, "runs"}, others...)...)}
}

// pairRow returns the first cells of such a row.
func pairRow(c *compare.Comparison, first string, run, reference int) []cell {
	if len(c.Pairs) == 1 {
		return cells(first)
	}
	return cells(first, pairOf(c, run, reference))
}

// byMethod names the method of the intervals of tables in brackets, empty if they have none.
func byMethod(tables []compare.Table) string {
	for _, t := range tables {
		if t.Interval != nil {
			return " (" + methodName(t.Interval.Method) + ")"
		}
	}
	return ""
}

func pairTable(c *compare.Comparison) *table {
	var tables []compare.Table
	for _, p := range c.Pairs {
		tables = append(tables, p.Table)
	}
	most := widest(tables...)
	t := &table{Caption: fmt.Sprintf("Differences of the pass rates, with their 95%% intervals%s; p adjusted over %s (%s)", byMethod(tables), count(c.Tests, "test"), name(c.Adjustment)),
		Columns: columns("runs", "verdict", ">difference", ">95% CI, pp", scale(most),
			">only run", ">only other", ">p", ">p adjusted")}
	for _, p := range c.Pairs {
		t.row(append([]cell{{Text: pairOf(c, p.Run, p.Reference)}, verdictCell(p.Verdict)},
			tableCells(p.Table, differenceBar(p.Table, p.Margin, most))...)...)
	}
	return t
}

// tableCells returns the figures of a pair, from the difference to the adjusted p-value.
func tableCells(t compare.Table, bar cell) []cell {
	diff := absent
	if t.Difference != nil {
		diff = points(*t.Difference)
	}
	return append([]cell{{Text: diff}, {Text: pointsInterval(t.Interval)}, bar},
		cells(fmt.Sprint(t.OnlyRun), fmt.Sprint(t.OnlyReference), pValue(t.P), pValue(t.Adjusted))...)
}

// pairNotes says what the figures of a pair allow to conclude.
func pairNotes(c *compare.Comparison, p compare.Pair) []block {
	who := fmt.Sprintf("%s and %s", name(c.Runs[p.Run].Name), name(c.Runs[p.Reference].Name))
	var parts []string
	if p.Unscored > 0 {
		parts = append(parts, count(p.Unscored, "question")+" left out because a run has no score")
	}
	if p.Clusters > 0 {
		parts = append(parts, fmt.Sprintf("the test takes %s of %s as independent, and not their questions", count(p.Clusters, "cluster"), name(c.ClusterTag)))
	}
	if text := p.PowerText(); text != "" {
		parts = append(parts, text)
	}
	if text := p.RecipesText(); text != "" {
		parts = append(parts, clean(text))
	}
	if m := p.Margin; m != nil {
		words := map[result.BaselineVerdict]string{result.NotWorse: "not worse", result.Worse: "worse", result.Unknown: "not known to be worse or not"}[m.Verdict]
		parts = append(parts, fmt.Sprintf("with a margin of %.1f pp, %s is %s (one-sided p %s of a loss of %.1f pp or more)",
			100*m.Margin, name(c.Runs[p.Run].Name), words, pValue(m.P), 100*m.Margin))
	}
	if len(parts) == 0 {
		return nil
	}
	return []block{{Text: who + ": " + strings.Join(parts, "; ") + "."}}
}

// measureBlocks shows the differences of scores, retrieval and latencies.
func measureBlocks(c *compare.Comparison) []block {
	how := "paired bootstrap"
	if c.ClusterTag != "" {
		how = "cluster sign flips"
	}
	means := withPairs(c, "Differences of means over the questions that both runs measured", "measure",
		"verdict", ">n", ">mean", ">other", ">difference", ">95% CI ("+how+")", ">p adjusted")
	ratios := withPairs(c, "Ratios of latencies; above 1 the run is slower", "latency",
		"verdict", ">n", ">p50", ">other", ">ratio", ">spread", ">p adjusted")
	for _, p := range c.Pairs {
		for _, m := range p.Measures {
			ci := absent
			if m.Interval != nil {
				ci = fmt.Sprintf("%+.3f to %+.3f", m.Interval.Low, m.Interval.High)
			}
			means.row(append(append(pairRow(c, name(m.Name), p.Run, p.Reference), verdictCell(m.Verdict)), cells(fmt.Sprint(m.N), fmt.Sprintf("%.3f", m.RunMean),
				fmt.Sprintf("%.3f", m.ReferenceMean), fmt.Sprintf("%+.3f", m.Difference), ci, pValue(&m.Adjusted))...)...)
		}
		for _, l := range p.Latencies {
			verdict := verdictCell(l.Verdict)
			verdict.Text = l.Verdict.Speed()
			ratios.row(append(append(pairRow(c, latencyName(l.Name), p.Run, p.Reference), verdict), cells(fmt.Sprint(l.N), milliseconds(l.RunP50),
				milliseconds(l.ReferenceP50), fmt.Sprintf("×%.2f", l.Ratio), l.Within(), pValue(l.Adjusted))...)...)
		}
	}
	var out []block
	for _, t := range []*table{means, ratios} {
		if len(t.Rows) > 0 {
			out = append(out, block{Table: t})
		}
	}
	return out
}

func latencyName(latency string) string {
	if known, ok := compare.LatencyName(latency); ok {
		return known
	}
	return name(latency)
}

// keyTable says whether the runs measured the same thing.
func keyTable(c *compare.Comparison) *table {
	head := []string{"what was measured", "state"}
	for _, r := range c.Runs {
		head = append(head, name(r.Name))
	}
	t := &table{Caption: "Whether the runs are comparable", Columns: columns(head...)}
	for _, k := range c.Keys {
		state := cell{Mark: "✓", Class: "pass", Text: "same"}
		switch {
		case k.State == compare.Unknown:
			state = cell{Mark: "?", Class: "none", Text: "not recorded"}
		case k.State == compare.Differs && !k.Matters:
			state = cell{Mark: "≠", Class: "none", Text: "differs, as may be"}
		case k.State == compare.Differs && k.Accepted:
			state = cell{Mark: "≠", Class: "warn", Text: "differs, accepted"}
		case k.State == compare.Differs:
			state = cell{Mark: "✗", Class: "fail", Text: "differs"}
		}
		if k.Note != "" {
			state.Text += ": " + line(k.Note, nameLength)
		}
		row := []cell{{Text: name(k.Name)}, state}
		for _, v := range k.Values {
			row = append(row, cell{Text: line(v, valueLength)})
		}
		t.row(row...)
	}
	return t
}

// matrixSection shows who passed what, for each pair.
func matrixSection(c *compare.Comparison) section {
	s := section{ID: "pairs", Title: "Paired verdicts"}
	for i, p := range c.Pairs {
		if i == maxMatrices {
			s.add(block{Text: fmt.Sprintf("and %d more pairs, see the differences above", len(c.Pairs)-i)})
			break
		}
		run, other := name(c.Runs[p.Run].Name), name(c.Runs[p.Reference].Name)
		t := &table{Caption: fmt.Sprintf("%s and %s on %s", run, other, count(p.N, "question")),
			Columns: columns("", "✓ "+other+" passed", "✗ "+other+" did not")}
		t.row(cell{Text: run + " passed", Mark: "✓", Class: "pass"},
			cell{Text: fmt.Sprint(p.Both)}, cell{Text: fmt.Sprintf("%d only %s", p.OnlyRun, run)})
		t.row(cell{Text: run + " did not", Mark: "✗", Class: "fail"},
			cell{Text: fmt.Sprintf("%d only %s", p.OnlyReference, other)}, cell{Text: fmt.Sprint(p.Neither)})
		s.add(block{Table: t})
		if p.Tied > 0 {
			s.add(block{Text: fmt.Sprintf("%s, passed by both in the same share of their repeats, are in none of the cells.", count(p.Tied, "question"))})
		}
	}
	return s
}

func tagTable(c *compare.Comparison) *table {
	most := 0.05
	var tables []compare.Table
	for _, tag := range c.Tags {
		for _, p := range tag.Pairs {
			most = max(most, widest(p.Table))
			tables = append(tables, p.Table)
		}
	}
	t := withPairs(c, fmt.Sprintf("Differences by tag, with their 95%% intervals%s; p adjusted over %s", byMethod(tables), count(c.TagTests, "test")), "tag",
		"verdict", ">n", ">difference", ">95% CI, pp", scale(most), ">only run", ">only other", ">p", ">p adjusted")
	for _, tag := range c.Tags {
		for _, p := range tag.Pairs {
			row := append(pairRow(c, name(tag.Title()), p.Run, p.Reference), verdictCell(p.Verdict), cell{Text: fmt.Sprint(p.N)})
			t.row(append(row, tableCells(p.Table, differenceBar(p.Table, nil, most))...)...)
		}
	}
	return t
}

// differingSection lists the questions on which the runs disagree.
func differingSection(c *compare.Comparison, anchors map[string]int) section {
	head := []string{"question", "text"}
	for _, r := range c.Runs {
		head = append(head, name(r.Name))
	}
	t := &table{Caption: count(len(c.Differing), "question") + " on which the runs disagree", Columns: columns(head...)}
	for _, q := range c.Differing[:min(maxDiffering, len(c.Differing))] {
		id := cell{Text: name(q.ID)}
		if n := anchors[q.ID]; n > 0 {
			id.URL = fmt.Sprintf("#q%d", n)
		}
		row := []cell{id, {Text: line(q.Question, listText)}}
		for _, a := range q.Answers {
			row = append(row, answeredCell(a))
		}
		t.row(row...)
	}
	s := section{ID: "differing", Title: "Disagreements", Blocks: []block{{Table: t}}}
	if more := len(c.Differing) - maxDiffering; more > 0 {
		s.add(block{Text: fmt.Sprintf("and %d more; evalctl compare --format json has all of them", more)})
	}
	return s
}

// answeredCell says what became of a question in one run.
func answeredCell(a compare.Answered) cell {
	out := cell{Mark: "✗", Class: "fail", Text: "failed"}
	switch {
	case a.Asked > 1:
		out = cell{Text: fmt.Sprintf("%d of %d", a.Passed, a.Asked)}
		switch a.Passed {
		case a.Asked:
			out.Mark, out.Class = "✓", "pass"
		case 0:
			out.Mark, out.Class = "✗", "fail"
		}
	case a.Passed > 0:
		out = cell{Mark: "✓", Class: "pass", Text: "passed"}
	case a.Outcome != result.Scored:
		out = cell{Mark: "!", Class: "warn", Text: name(string(a.Outcome))}
	}
	if a.Score != nil {
		out.Text += fmt.Sprintf(" (%.3g)", *a.Score)
	}
	return out
}

// comparisonMethods says how the figures of a comparison were computed.
func comparisonMethods(c *compare.Comparison) []fact {
	test := "Exact McNemar test, two-sided: with b and c questions that only one of the runs passed, " +
		"twice the probability of at most min(b, c) heads in b + c tosses of a coin, at most 1."
	switch {
	case c.ClusterTag != "":
		test = "Sign-flip test of the differences of whole clusters, two-sided: the share of all assignments of signs to the " +
			"clusters whose sum is at least as far from 0. Above 14 clusters they are random ones."
	case c.Repeated:
		test = "Sign-flip test of the mean difference of the questions' pass rates, two-sided."
	}
	out := []fact{
		{Name: "Pairs", Value: "Runs are compared question by question. An error is a verdict: not passed. Pairs without a score are left out."},
		{Name: "Test", Value: test},
		{Name: "Adjustment", Value: "p-values are adjusted by Holm’s method over all tests of a table; a difference is shown if the adjusted one is below 0.05."},
	}
	if c.Resamples > 0 {
		out = append(out, fact{Name: "Resampling", Value: fmt.Sprintf("%d resamples with seed %d", c.Resamples, c.Seed)})
	}
	return out
}
