package report

import (
	"cmp"
	"fmt"
	"strings"

	"evalctl/harness/compare"
	"evalctl/internal/figure"
)

// Comparison is a comparison of runs.
type Comparison struct{ *compare.Comparison }

// name returns the name of a run.
func (c Comparison) name(i int) string { return c.Runs[i].Name }

// title names a pair of runs.
func (c Comparison) title(p *compare.Pair) string {
	return c.name(p.Run) + " vs " + c.name(p.Reference)
}

// verdictOn returns the verdict on a pair by the primary measures in words, and whether it is a
// regression, as for --fail-on regression of evalctl compare.
func (c Comparison) verdictOn(p *compare.Pair) (words string, regression bool) {
	for i, k := range c.PrimaryClaims(p) {
		if i > 0 {
			words += ", "
		}
		words += k.Words()
		if len(c.Primary) > 1 || k.Measure != "pass_rate" {
			name, _ := compare.MeasureName(k.Measure)
			words += " (" + name + ")"
		}
	}
	if words = cmp.Or(words, compare.NotJudged.Words()); p.Margin != nil {
		words += fmt.Sprintf("; by the margin of %v: %s", p.Margin.Margin, verdictWords(p.Margin.Verdict))
	}
	return words, c.Baseline != "" && c.Worsens(p)
}

// suites returns a suite for each pair of runs: a case for the verdict, and one for each question
// that only one of the runs passed. With a baseline, a question that only the baseline passed is a
// failure.
func (c Comparison) suites() []suite {
	var out []suite
	for i := range c.Pairs {
		p := &c.Pairs[i]
		s := suite{name: "compare." + c.title(p), started: c.Runs[p.Run].StartedAt}
		s.add("reference", strings.Join(c.Runs[p.Reference].Paths(), ","))
		s.add("run", strings.Join(c.Runs[p.Run].Paths(), ","))
		s.add("pairs", fmt.Sprint(p.N))
		s.add("difference", decimal(p.Difference))
		s.add("ci", bounds(p.Interval))
		s.add("p", decimal(p.P))
		s.add("p_adjusted", decimal(p.Adjusted))
		s.add("test", p.Test)
		if accepted := c.Accepted(); accepted != "" {
			s.add("accepted", accepted)
		}
		words, regression := c.verdictOn(p)
		s.add("verdict", words)
		verdict := testCase{class: s.name, name: "verdict"}
		if regression {
			verdict.status, verdict.kind, verdict.message = failed, "regression", c.sentence(p)
		}
		s.cases = append(s.cases, verdict)
		for _, id := range p.OnlyReferenceIDs {
			broke := testCase{class: s.name, name: id}
			if c.Baseline != "" {
				broke.status, broke.kind = failed, "broke"
				broke.message = c.name(p.Reference) + " passed and " + c.name(p.Run) + " did not"
			}
			s.cases = append(s.cases, broke)
		}
		for _, id := range p.OnlyRunIDs {
			s.cases = append(s.cases, testCase{class: s.name, name: id})
		}
		out = append(out, s)
	}
	return out
}

// sentence describes the difference of the runs of a pair.
func (c Comparison) sentence(p *compare.Pair) string {
	words, _ := c.verdictOn(p)
	text := fmt.Sprintf("%s: %s, %s passed only by %s and %d only by %s", c.title(p), words,
		figure.Count(p.OnlyReference, "question"), c.name(p.Reference), p.OnlyRun, c.name(p.Run))
	if p.Difference != nil {
		text += ", " + pointsWithin(p.Table)
	}
	if len(p.LeakedIDs) > 0 {
		text += "; " + c.LeakText(p)
	}
	return text
}

// annotations returns the pairs in which the run is worse.
func (c Comparison) annotations() []annotation {
	var out []annotation
	for i := range c.Pairs {
		if _, regression := c.verdictOn(&c.Pairs[i]); regression {
			out = append(out, annotation{title: c.title(&c.Pairs[i]), message: c.sentence(&c.Pairs[i])})
		}
	}
	return out
}
