package report

import (
	"fmt"
	"io"

	"evalctl/harness/conformance"
	"evalctl/internal/markdown"
	"evalctl/internal/printable"
)

// Conformance is a report of the checks of a daemon.
type Conformance conformance.Report

// report returns the report with its methods.
func (c Conformance) report() conformance.Report { return conformance.Report(c) }

func (c Conformance) page() *Page { return &Page{Conformance: new(c.report())} }

// isWhole reports whether all checks were done, by one and the same process of the daemon.
func (c Conformance) isWhole() bool { return !c.Partial && len(c.Deaths) == 0 }

// progress describes a report that is not whole.
func (c Conformance) progress() string {
	text := fmt.Sprintf("%d of %d checks were done when the run was stopped", len(c.Results), c.Planned)
	if !c.Partial {
		text = "all checks were done, but the daemon had to be restarted"
	}
	for _, d := range c.Deaths {
		text += ": the daemon died " + d.String()
	}
	return text
}

// incomplete is the word for a report that is not whole.
func (c Conformance) incomplete() string {
	if c.Partial {
		return "partial"
	}
	return "died"
}

// suites returns a suite for each group of requirements. A requirement of level MUST that is broken
// is a failure. One of level SHOULD does not decide the verdict: if it is broken it is skipped,
// like one that was not judged, and its message says so. A partial report, and one of a daemon that
// died, has an additional suite with an error, so that it does not count as a success.
func (c Conformance) suites() []suite {
	var out []suite
	for _, group := range c.report().Groups() {
		s := suite{name: "conformance." + group, started: c.StartedAt}
		s.add("endpoint", c.Endpoint)
		if c.Profile != "" {
			s.add("profile", string(c.Profile))
		}
		for _, r := range c.Results {
			if r.Group == group {
				s.ms += r.DurationMS
				s.cases = append(s.cases, requirement(r))
			}
		}
		out = append(out, s)
	}
	if !c.isWhole() {
		out = append(out, suite{name: "conformance", started: c.StartedAt, cases: []testCase{{
			class: "conformance", name: "run-complete", status: errored, kind: c.incomplete(),
			message: printable.Line(c.incomplete()+": "+c.progress(), messageLength),
		}}})
	}
	return out
}

// requirement returns the case of a check. Its class has the level.
func requirement(r conformance.Result) testCase {
	c := testCase{class: fmt.Sprintf("conformance.%s.%s", r.Group, r.Level), name: r.ID, ms: r.DurationMS}
	if r.Verdict == conformance.Kept {
		return c
	}
	c.kind, c.message = string(r.Level), printable.Line(r.Detail, messageLength)
	c.text = fmt.Sprintf("%s (spec %s)\n%s", r.Sentence, r.Section, shortened(r.Detail, partLength))
	for _, evidence := range []string{r.Cause, r.Request, r.Response} {
		if evidence != "" && evidence != r.Detail {
			c.text += "\n\n" + shortened(evidence, partLength)
		}
	}
	switch {
	case r.Verdict == conformance.NotJudged:
		c.status, c.kind = skipped, string(r.Reason)
		c.message = "not judged, " + r.Reason.String() + ": " + c.message
	case r.Level == conformance.Must:
		c.status = failed
	default:
		c.status, c.message = skipped, "broken SHOULD: "+c.message
	}
	return c
}

// write writes the verdict, the counts of each group, what is broken and what was not judged.
func (c Conformance) write(p *summary) {
	r := c.report()
	broken, kept := r.Count("", conformance.Must, conformance.Broken), r.Count("", conformance.Must, conformance.Kept)
	word := "Pass"
	switch {
	case broken > 0:
		word = "Fail"
	case !c.isWhole():
		word = "Inconclusive"
	case r.NotJudged("") == len(r.Results):
		word = "Invalid" // nothing was found out
	case r.Unsettled() != "":
		word = "Inconclusive"
	}
	p.printf("## %s: %d of %d MUST requirements%s are broken\n\n", word, broken, broken+kept, r.Of())
	p.printf("Conformance of %s.\n\n", markdown.Span(c.Endpoint, textLength))
	switch {
	case c.Partial:
		p.printf("**Partial:** %s\n\n", markdown.Span(c.progress(), sentenceLength))
	case !c.isWhole():
		p.printf("**The daemon died:** %s\n\n", markdown.Span(c.progress(), sentenceLength))
	}
	if text := r.Unsettled(); text != "" {
		p.printf("**Too little was judged:** %s\n\n", markdown.Span(text, sentenceLength))
	}
	t := markdown.NewTable("lrrrrr", "group", "MUST kept", "MUST broken", "SHOULD kept", "SHOULD broken", "not judged")
	for _, g := range append(r.Groups(), "") {
		name := g
		if g == "" {
			name = "**all**"
		}
		t.Row(name, fmt.Sprint(r.Count(g, conformance.Must, conformance.Kept)), fmt.Sprint(r.Count(g, conformance.Must, conformance.Broken)),
			fmt.Sprint(r.Count(g, conformance.Should, conformance.Kept)), fmt.Sprint(r.Count(g, conformance.Should, conformance.Broken)), fmt.Sprint(r.NotJudged(g)))
	}
	p.part(func(w io.Writer) { t.Write(w) })
	p.fold(fmt.Sprintf("Findings: %d", len(r.Findings)), len(r.Findings), wholeReport, func(i int) string {
		return findingItem(r.Findings[i])
	})
	groups := r.Unjudged()
	p.fold(fmt.Sprintf("Not judged: %d", r.NotJudged("")), len(groups), wholeReport, func(i int) string {
		return groupItem(groups[i])
	})
	p.fold(fmt.Sprintf("Found once, and allowed for in the other checks: %d", len(r.Normalised)), len(r.Normalised), wholeReport, func(i int) string {
		return fmt.Sprintf("- %s\n", markdown.Span(r.Normalised[i], textLength))
	})
	p.ids("Brains left behind: ", c.BrainsLeft)
}

// wholeReport is where the items are that do not fit into a summary.
const wholeReport = "the report of evalctl conformance --format json"

// shownChecks is the number of checks that a summary names of a finding.
const shownChecks = 10

// findingItem returns a finding with its evidence as an item of a list.
func findingItem(f conformance.Finding) string {
	item := fmt.Sprintf("- **%s** %s\n  - %s\n", f.Level, markdown.Span(f.Cause, textLength), markdown.Span(f.Summary(shownChecks), sentenceLength))
	if f.Sentence != "" {
		item += fmt.Sprintf("  - spec %s: %s\n", markdown.Span(f.Section, textLength), markdown.Span(f.Sentence, textLength))
	}
	for _, part := range [][2]string{{"detail", f.Detail}, {"request", f.Request}, {"response", f.Response}} {
		if part[1] != "" {
			item += fmt.Sprintf("  - %s: %s\n", part[0], markdown.Span(part[1], sentenceLength))
		}
	}
	return item
}

// groupItem returns a group of checks that are not judged as an item of a list.
func groupItem(g conformance.Group) string {
	item := fmt.Sprintf("- %d: %s\n", len(g.Results), markdown.Span(g.String(), textLength))
	if first := g.Results[0]; first.Reason != conformance.ReasonNeed {
		item += fmt.Sprintf("  - such as %s: %s\n", markdown.Span(first.ID, textLength), markdown.Span(first.Detail, sentenceLength))
	}
	return item
}

// annotations returns the findings of level MUST, after an incomplete run.
func (c Conformance) annotations() []annotation {
	var out []annotation
	if !c.isWhole() {
		out = append(out, annotation{title: "conformance: " + c.incomplete(), message: c.progress()})
	}
	if text := c.report().Unsettled(); text != "" {
		out = append(out, annotation{title: "conformance: much is not judged", message: text})
	}
	for _, f := range c.Findings {
		if f.Level == conformance.Must {
			out = append(out, annotation{title: f.Cause, message: f.Summary(shownChecks) + ". " + f.Sentence + " " + f.Detail})
		}
	}
	return out
}
