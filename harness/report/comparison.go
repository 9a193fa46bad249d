package report

import (
	"fmt"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// Comparison is a comparison of runs.
type Comparison struct{ *compare.Comparison }

// name returns the name of a run.
func (c Comparison) name(i int) string { return c.Runs[i].Name }

// title names a pair of runs.
func (c Comparison) title(p *compare.Pair) string {
	return c.name(p.Run) + " vs " + c.name(p.Reference)
}

// verdict returns the verdict on a pair in words, and whether it is a regression.
func verdictOn(p *compare.Pair) (words string, regression bool) {
	if m := p.Margin; m != nil {
		return map[result.BaselineVerdict]string{
			result.NotWorse: "not worse", result.Worse: "worse", result.Unknown: "unknown",
		}[m.Verdict], m.Verdict == result.Worse
	}
	return p.Verdict.Words(), p.Verdict == compare.Worse
}

// suites returns a suite for each pair of runs: a case for the verdict, and one for each question
// that only one of the runs passed. A question that only the reference passed is a failure.
func (c Comparison) suites() []suite {
	var out []suite
	for i := range c.Pairs {
		p := &c.Pairs[i]
		s := suite{name: "compare." + c.title(p), started: c.Runs[p.Run].StartedAt}
		s.add("reference", c.Runs[p.Reference].Path)
		s.add("run", c.Runs[p.Run].Path)
		s.add("pairs", fmt.Sprint(p.N))
		s.add("difference", decimal(p.Difference))
		s.add("ci95", bounds(p.Interval))
		s.add("p", decimal(p.P))
		s.add("p_adjusted", decimal(p.Adjusted))
		s.add("test", p.Test)
		words, regression := verdictOn(p)
		s.add("verdict", words)
		verdict := testCase{class: s.name, name: "verdict"}
		if regression {
			verdict.status, verdict.kind, verdict.message = failed, "regression", c.sentence(p)
		}
		s.cases = append(s.cases, verdict)
		for _, id := range p.OnlyReferenceIDs {
			s.cases = append(s.cases, testCase{class: s.name, name: id, status: failed, kind: "broke",
				message: c.name(p.Reference) + " passed and " + c.name(p.Run) + " did not"})
		}
		for _, id := range p.OnlyRunIDs {
			s.cases = append(s.cases, testCase{class: s.name, name: id})
		}
		out = append(out, s)
	}
	return out
}

// sentence says in words how the runs of a pair differ.
func (c Comparison) sentence(p *compare.Pair) string {
	words, _ := verdictOn(p)
	text := fmt.Sprintf("%s: %s, %s passed only by %s and %d only by %s", c.title(p), words,
		markdown.Count(p.OnlyReference, "question"), c.name(p.Reference), p.OnlyRun, c.name(p.Run))
	if p.Difference != nil {
		text += ", " + points(p.Difference)
	}
	if p.Interval != nil {
		text += " [" + pointsInterval(p.Interval) + "]"
	}
	return text
}

// write writes the verdicts, the runs, the pairs, the tags and the questions that differ.
func (c Comparison) write(p *summary) {
	worse := 0
	for i := range c.Pairs {
		if _, regression := verdictOn(&c.Pairs[i]); regression {
			worse++
		}
	}
	switch {
	case worse > 0:
		p.printf("## Worse: %d of %s\n\n", worse, markdown.Count(len(c.Pairs), "pair"))
	default:
		p.printf("## No regression shown in %s of runs\n\n", markdown.Count(len(c.Pairs), "pair"))
	}
	for i := range c.Pairs {
		p.printf("- %s\n", markdown.Span(c.sentence(&c.Pairs[i]), sentenceLength))
	}
	p.printf("\n%s compared.\n\n", markdown.Count(c.Questions.Selected, "question"))
	c.runs(p)
	c.pairs(p)
	c.tags(p)
	for _, note := range c.Notes {
		p.printf("- %s\n", markdown.Span(note, sentenceLength))
	}
	p.printf("\n")
	p.fold(fmt.Sprintf("Questions on which the runs differ: %d", len(c.Differing)), len(c.Differing), "the output of evalctl compare --format json", c.item)
}

// runs writes a row for each run.
func (c Comparison) runs(p *summary) {
	t := markdown.NewTable("lrrrrrr", "run", "questions", "passed", "pass rate", "95% CI (Wilson)", "errors", "unscored")
	p.rows(t, len(c.Runs), "runs", func(i int) []string {
		r := &c.Runs[i]
		name := markdown.Cell(r.Name)
		if r.Selection != "" {
			name += " selection: " + markdown.Cell(r.Selection)
		}
		return []string{name, fmt.Sprint(r.Counts.Total), fmt.Sprint(r.Counts.Passed), markdown.Rate(r.PassRate),
			interval(r.Interval), fmt.Sprint(r.Counts.Errors), fmt.Sprint(r.Counts.Unscored)}
	})
}

// pairs writes a row for each pair.
func (c Comparison) pairs(p *summary) {
	t := markdown.NewTable("lrrrrrrl", "run vs reference", "pairs", "difference", "95% CI", "only run", "only reference", "p (adjusted)", "verdict")
	p.rows(t, len(c.Pairs), "pairs", func(i int) []string {
		pair := &c.Pairs[i]
		words, regression := verdictOn(pair)
		if regression {
			words = "**" + words + "**"
		}
		name := markdown.Cell(c.name(pair.Run)) + " vs " + markdown.Cell(c.name(pair.Reference))
		return append(append([]string{name}, table(&pair.Table)...), words)
	})
	p.printf("p is two-sided (%s) and adjusted over %s by the method of %s.\n\n",
		c.tests(), markdown.Count(c.Tests, "test"), markdown.Code(c.Adjustment))
}

// tests names the tests of the pairs.
func (c Comparison) tests() string {
	if len(c.Pairs) == 0 {
		return markdown.None
	}
	return markdown.Code(c.Pairs[0].Test)
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
			name := markdown.Cell(c.name(pair.Run)) + " vs " + markdown.Cell(c.name(pair.Reference))
			rows = append(rows, append(append([]string{markdown.Cell(tag.Tag), name}, table(&pair.Table)...), pair.Verdict.Words()))
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

// annotations returns the pairs in which the run is worse.
func (c Comparison) annotations() []annotation {
	var out []annotation
	for i := range c.Pairs {
		if _, regression := verdictOn(&c.Pairs[i]); regression {
			out = append(out, annotation{title: c.title(&c.Pairs[i]), message: c.sentence(&c.Pairs[i])})
		}
	}
	return out
}
