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
	c.text = fmt.Sprintf("%s (spec %s)\n%s\n%s", r.Sentence, r.Section, shortened(r.Detail, partLength), r.Request)
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
	}
	p.printf("## %s: %d of %d MUST requirements are broken\n\n", word, broken, broken+kept)
	p.printf("Conformance of %s.\n\n", markdown.Span(c.Endpoint, textLength))
	switch {
	case c.Partial:
		p.printf("**Partial:** %s\n\n", markdown.Span(c.progress(), sentenceLength))
	case !c.isWhole():
		p.printf("**The daemon died:** %s\n\n", markdown.Span(c.progress(), sentenceLength))
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
	c.fold(p, "Broken MUST", func(r conformance.Result) bool { return r.Verdict == conformance.Broken && r.Level == conformance.Must })
	c.fold(p, "Broken SHOULD", func(r conformance.Result) bool {
		return r.Verdict == conformance.Broken && r.Level == conformance.Should
	})
	c.fold(p, "Not judged", func(r conformance.Result) bool { return r.Verdict == conformance.NotJudged })
	p.ids("Brains left behind: ", c.BrainsLeft)
}

// fold writes the checks for which some holds.
func (c Conformance) fold(p *summary, title string, some func(conformance.Result) bool) {
	var found []conformance.Result
	for _, r := range c.Results {
		if some(r) {
			found = append(found, r)
		}
	}
	p.fold(fmt.Sprintf("%s: %d", title, len(found)), len(found), "the report of evalctl conformance --format json", func(i int) string {
		r := found[i]
		item := fmt.Sprintf("- `%s` (spec %s): %s\n", r.ID, r.Section, markdown.Span(r.Sentence, textLength))
		if r.Verdict == conformance.NotJudged {
			item += fmt.Sprintf("  - not judged: %s\n", r.Reason)
		}
		item += fmt.Sprintf("  - detail: %s\n", markdown.Span(r.Detail, sentenceLength))
		if r.Request != "" {
			item += fmt.Sprintf("  - request: %s\n", markdown.Span(r.Request, textLength))
		}
		return item
	})
}

// annotations returns the broken requirements of level MUST, after an incomplete run.
func (c Conformance) annotations() []annotation {
	var out []annotation
	if !c.isWhole() {
		out = append(out, annotation{title: "conformance: " + c.incomplete(), message: c.progress()})
	}
	for _, r := range c.Results {
		if r.Verdict == conformance.Broken && r.Level == conformance.Must {
			out = append(out, annotation{title: r.ID, message: r.Sentence + " " + r.Detail})
		}
	}
	return out
}
