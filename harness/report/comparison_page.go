package report

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// write writes the verdicts, what differs between the runs, the runs, the pairs, the tags and the
// questions that differ.
func (c Comparison) write(p *summary) {
	p.printf("## %s\n\n", c.heading())
	for _, sentence := range c.MemorySentences() {
		p.printf("- %s\n", markdown.Span(sentence, sentenceLength))
	}
	for i := range c.Pairs {
		p.printf("- %s\n", markdown.Span(c.sentence(&c.Pairs[i]), sentenceLength))
	}
	p.printf("\n")
	c.tables(p)
	p.fold(fmt.Sprintf("Questions on which the runs differ: %d", len(c.Differing)), len(c.Differing), "the output of evalctl compare --format json", c.item)
}

// tables writes the figures of the comparison.
func (c Comparison) tables(p *summary) {
	p.printf("%s compared.\n\n", markdown.Count(c.Questions.Selected, "question"))
	c.runs(p)
	c.keys(p)
	c.pairs(p)
	c.measures(p)
	c.latencies(p)
	c.tags(p)
	for _, note := range c.Notes {
		p.printf("- %s\n", markdown.Span(note, sentenceLength))
	}
	p.printf("\n")
}

// heading returns the verdict in words.
func (c Comparison) heading() string {
	worse, differ, pairs := 0, 0, markdown.Count(len(c.Pairs), "pair")
	for i := range c.Pairs {
		if _, regression := c.verdictOn(&c.Pairs[i]); regression {
			worse++
		}
		if c.Pairs[i].Verdict != compare.NotSeen {
			differ++
		}
	}
	switch {
	case worse > 0:
		return fmt.Sprintf("Worse: %d of %s", worse, pairs)
	case c.Baseline != "":
		return fmt.Sprintf("No regression shown in %s of runs", pairs)
	case differ > 0:
		return fmt.Sprintf("Difference shown in %d of %s of runs", differ, pairs)
	}
	return fmt.Sprintf("No difference shown in %s of runs", pairs)
}

// runs writes a row for each run.
func (c Comparison) runs(p *summary) {
	t := markdown.NewTable("lrrrrrr", "run", "questions", "passed", "pass rate", "95% CI (Wilson)", "errors", "unscored")
	p.rows(t, len(c.Runs), "runs", func(i int) []string {
		r := &c.Runs[i]
		name := markdown.Cell(r.Name)
		if n := len(r.Files); n > 0 {
			name += fmt.Sprintf(", %d runs", n)
		}
		if r.Selection != "" {
			name += " selection: " + markdown.Cell(r.Selection)
		}
		return []string{name, fmt.Sprint(r.Counts.Total), fmt.Sprint(r.Counts.Passed), markdown.Rate(r.PassRate),
			interval(r.Interval), fmt.Sprint(r.Counts.Errors), fmt.Sprint(r.Counts.Unscored)}
	})
}

// keys writes in what the runs differ besides their results.
func (c Comparison) keys(p *summary) {
	header := []string{"differs in"}
	for i := range c.Runs {
		header = append(header, markdown.Cell(c.name(i)))
	}
	var differing []*compare.Key
	for i := range c.Keys {
		if c.Keys[i].State == compare.Differs {
			differing = append(differing, &c.Keys[i])
		}
	}
	t := markdown.NewTable(strings.Repeat("l", len(header)+1), append(header, "")...)
	p.rows(t, len(differing), "differences", func(i int) []string {
		k := differing[i]
		row := []string{markdown.Cell(k.Name)}
		for _, v := range k.Values {
			row = append(row, join(markdown.Cell, v))
		}
		note := ""
		switch {
		case k.Accepted:
			note = "accepted"
		case k.Note != "":
			note = markdown.Cell(k.Note)
		}
		return append(row, note)
	})
}

// pair returns the names of a pair for a cell.
func (c Comparison) pair(run, reference int) string {
	return markdown.Cell(c.name(run)) + " vs " + markdown.Cell(c.name(reference))
}

// pairs writes a row for each pair, and what its verdict does not say.
func (c Comparison) pairs(p *summary) {
	t := markdown.NewTable("lrrrrrrl", "run vs reference", "pairs", "difference", "95% CI", "only run", "only reference", "p (adjusted)", "verdict")
	p.rows(t, len(c.Pairs), "pairs", func(i int) []string {
		pair := &c.Pairs[i]
		words, regression := c.verdictOn(pair)
		if regression {
			words = "**" + words + "**"
		}
		return append(append([]string{c.pair(pair.Run, pair.Reference)}, table(&pair.Table)...), words)
	})
	if len(c.Pairs) == 0 {
		return
	}
	var tests, intervals []string
	for i := range c.Pairs {
		pair := &c.Pairs[i]
		if test := markdown.Code(pair.Test); !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
		if pair.Interval != nil && !slices.Contains(intervals, method(pair.Interval)) {
			intervals = append(intervals, method(pair.Interval))
		}
	}
	how := ""
	if len(intervals) > 0 {
		how = fmt.Sprintf(" Intervals of differences: %s.", strings.Join(intervals, " or "))
	}
	p.printf("p is two-sided (%s) and adjusted over %s by the method of %s.%s\n\n",
		strings.Join(tests, " or "), markdown.Count(c.Tests, "test"), markdown.Code(c.Adjustment), how)
	for i := range c.Pairs {
		c.pairNotes(p, &c.Pairs[i])
	}
	p.printf("\n")
}

// pairNotes writes how many clusters a pair has, and what a comparison of its size could see.
func (c Comparison) pairNotes(p *summary, pair *compare.Pair) {
	name := markdown.Code(c.title(pair))
	if pair.Clusters > 0 {
		p.printf("- %s: %s of %s, whose questions are not taken as independent\n", name, markdown.Count(pair.Clusters, "cluster"), markdown.Code(c.ClusterTag))
	}
	if text := pair.PowerText(); text != "" {
		p.printf("- %s: %s\n", name, text)
	}
	if text := pair.RecipesText(); text != "" {
		p.printf("- %s: %s\n", name, markdown.Span(text, 1000))
	}
}

// measures writes the differences of scores and of retrieval.
func (c Comparison) measures(p *summary) {
	var rows [][]string
	how, resampled := "bootstrap", c.ClusterTag == ""
	if c.ClusterTag != "" {
		how = "cluster sign flips"
	}
	for i := range c.Pairs {
		pair := &c.Pairs[i]
		for _, m := range pair.Measures {
			resampled = resampled || pair.Resampled()
			within := markdown.None
			if m.Interval != nil {
				within = fmt.Sprintf("%+.3f to %+.3f", m.Interval.Low, m.Interval.High)
			}
			rows = append(rows, []string{markdown.Cell(m.Name), c.pair(pair.Run, pair.Reference), fmt.Sprint(m.N), markdown.Rate(&m.RunMean),
				markdown.Rate(&m.ReferenceMean), fmt.Sprintf("%+.3f", m.Difference), within, markdown.Probability(m.Adjusted), c.words(m.Verdict)})
		}
	}
	if resampled {
		how += fmt.Sprintf(", %d resamples, seed %d", c.Resamples, c.Seed)
	}
	t := markdown.NewTable("llrrrrrrl", "mean of", "run vs reference", "questions", "run", "reference", "difference",
		"95% CI ("+how+")", "p (adjusted)", "verdict")
	p.rows(t, len(rows), "rows", func(i int) []string { return rows[i] })
}

// latencyName returns a latency of a comparison for people, as a cell.
func latencyName(latency string) string {
	if name, ok := compare.LatencyName(latency); ok {
		return name
	}
	return markdown.Cell(latency)
}

// latencies writes the ratios of latencies.
func (c Comparison) latencies(p *summary) {
	var rows [][]string
	for i := range c.Pairs {
		pair := &c.Pairs[i]
		for _, l := range pair.Latencies {
			adjusted := markdown.None
			if l.Adjusted != nil {
				adjusted = markdown.Probability(*l.Adjusted)
			}
			rows = append(rows, []string{latencyName(l.Name), c.pair(pair.Run, pair.Reference), fmt.Sprint(l.N), markdown.Milliseconds(&l.RunP50),
				markdown.Milliseconds(&l.ReferenceP50), fmt.Sprintf("×%.2f", l.Ratio), l.Within(), adjusted, l.Verdict.Speed()})
		}
	}
	t := markdown.NewTable("llrrrrrrl", "latency", "run vs reference", "questions", "run p50", "reference p50", "ratio", "spread", "p (adjusted)", "verdict")
	p.rows(t, len(rows), "rows", func(i int) []string { return rows[i] })
}

// table returns the figures of a table of pairs.
func table(t *compare.Table) []string {
	p := markdown.None
	if t.Adjusted != nil {
		p = markdown.Probability(*t.Adjusted)
	}
	return []string{fmt.Sprint(t.N), points(t.Difference), pointsInterval(t.Interval), fmt.Sprint(t.OnlyRun), fmt.Sprint(t.OnlyReference), p}
}

// tags writes a row for each pair of runs and tag.
func (c Comparison) tags(p *summary) {
	var rows [][]string
	for _, tag := range c.Tags {
		for i := range tag.Pairs {
			pair := &tag.Pairs[i]
			rows = append(rows, append(append([]string{markdown.Cell(tag.Title()), c.pair(pair.Run, pair.Reference)}, table(&pair.Table)...), c.words(pair.Verdict)))
		}
	}
	t := markdown.NewTable("llrrrrrrl", "tag", "run vs reference", "pairs", "difference", "95% CI", "only run", "only reference", "p (adjusted)", "verdict")
	p.rows(t, len(rows), "rows", func(i int) []string { return rows[i] })
}

// item returns a question on which runs differ as an item of a list.
func (c Comparison) item(i int) string {
	q := &c.Differing[i]
	var b strings.Builder
	fmt.Fprintf(&b, "- %s %s\n", markdown.Code(q.ID), markdown.Span(q.Question, textLength))
	for run, a := range q.Answers {
		fmt.Fprintf(&b, "  - %s: %s\n", markdown.Code(c.name(run)), answered(a))
	}
	return b.String()
}

// answered says what became of a question in a run.
func answered(a compare.Answered) string {
	switch {
	case a.Asked > 1:
		return fmt.Sprintf("%d of %d passed", a.Passed, a.Asked)
	case a.Passed > 0:
		return "pass"
	case a.Outcome == result.Scored:
		return "**fail**"
	}
	return "**" + string(a.Outcome) + "**"
}
