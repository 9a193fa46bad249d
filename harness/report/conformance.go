package report

import (
	"fmt"
	"strings"
	"time"

	"evalctl/harness/conformance"
	"evalctl/harness/report/form"
	"evalctl/internal/printable"
)

// Conformance is the document of the checks of a daemon.
type Conformance conformance.Report

// report returns the report with its methods.
func (c Conformance) report() conformance.Report { return conformance.Report(c) }

// isWhole reports whether all checks were done by a single process of the daemon.
func (c Conformance) isWhole() bool { return !c.Partial && len(c.Deaths) == 0 }

// progress describes a report that is not whole.
func (c Conformance) progress() string {
	text := "all checks were done when the daemon stopped answering"
	switch {
	case c.Partial:
		text = fmt.Sprintf("%d of %d checks were done when the run was stopped", len(c.Results), c.Planned)
	case c.report().Restarted():
		text = "all checks were done, but the daemon had to be restarted"
	}
	for _, d := range c.Deaths {
		text += ": the daemon died " + d.String()
	}
	return text
}

// incomplete returns the word for an incomplete report.
func (c Conformance) incomplete() string {
	if c.Partial {
		return "partial"
	}
	return "died"
}

// suites returns a suite for each group of requirements. A broken requirement of level MUST is a
// failure. Level SHOULD does not affect the verdict: a broken requirement is skipped, like one that
// was not judged, and its message says so. If the report is partial or the daemon died, an
// additional suite has an error, so that the report does not count as a success.
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

// requirement returns the case of a check. Its class contains the level.
func requirement(r conformance.Result) testCase {
	c := testCase{class: fmt.Sprintf("conformance.%s.%s", r.Group, r.Level), name: r.ID, ms: r.DurationMS}
	if r.Verdict == conformance.Kept {
		return c
	}
	c.kind, c.message = string(r.Level), printable.Line(r.Detail, messageLength)
	c.text = fmt.Sprintf("%s (spec %s)\n%s", r.Sentence, r.Section, shortened(r.Detail))
	for _, evidence := range []string{r.Cause, r.Request, r.Response} {
		if evidence != "" && evidence != r.Detail {
			c.text += "\n\n" + shortened(evidence)
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

// reports returns the verdict, the broken and the unjudged requirements, and the counts of each
// group.
func (c Conformance) reports() []*form.Report {
	r := c.report()
	out := &form.Report{Verdict: c.verdict()}
	found := form.Section{ID: "findings", Title: "Findings"}
	warn := func(format string, args ...any) {
		out.Warnings = append(out.Warnings, form.F(format, args...))
		found.Warn(form.Terminal, format, args...)
	}
	if !c.isWhole() {
		warn("%s: %s", strings.ToUpper(c.incomplete()), form.Data(c.progress()))
	}
	if text := r.Unsettled(); text != "" {
		warn("too little was judged: %s", form.Data(text))
	}
	if of := r.Of(); of != "" {
		found.FactIn(form.Terminal, "profile", "%s", c.broken())
	}
	found.Show(form.Everywhere, form.List{Title: fmt.Sprintf("Findings: %d", len(r.Findings)), N: len(r.Findings), More: form.F(wholeReport),
		Item: func(i int) form.Item { return findingItem(r.Findings[i]) }})
	groups := r.Unjudged()
	found.Show(form.Everywhere, form.List{Title: fmt.Sprintf("Not judged: %d", r.NotJudged()), N: len(groups), More: form.F(wholeReport), Most: shownUnjudged,
		Item: func(i int) form.Item { return groupItem(groups[i]) }})
	found.Show(form.Everywhere, form.List{Title: fmt.Sprintf("Found once, and allowed for in the other checks: %d", len(r.Normalised)), N: len(r.Normalised), More: form.F(wholeReport),
		Item: func(i int) form.Item { return form.Item{Head: form.F("%s", form.Data(r.Normalised[i]))} }})
	out.Sections = []form.Section{found, c.counts()}
	for _, part := range []struct {
		id, title string
		level     conformance.Level
		verdict   conformance.Verdict
	}{
		{"must", "MUST, broken", conformance.Must, conformance.Broken},
		{"should", "SHOULD, broken", conformance.Should, conformance.Broken},
		{"open", "Not judged", "", conformance.NotJudged},
		{"kept", "Kept", "", conformance.Kept},
	} {
		t := form.NewTable(form.F("%s", part.title), "check", "level", "section", "requirement", "found")
		for _, check := range c.Results {
			if check.Verdict == part.verdict && (part.level == "" || check.Level == part.level) {
				t.Row(checkRow(check)...)
			}
		}
		s := form.Section{ID: part.id, Title: fmt.Sprintf("%s: %d", part.title, len(t.Rows))}
		s.Show(form.HTML, t)
		out.Sections = append(out.Sections, s)
	}
	s := form.Section{ID: "ran", Title: "What ran", Folded: true}
	s.FactIn(form.Pages, "endpoint", "%s", form.Name(c.Endpoint))
	if c.Profile != "" {
		s.FactIn(form.Pages, "profile", "%s", form.Name(c.Profile))
	}
	if c.MCPVersion != "" {
		s.FactIn(form.Pages, "mcp", "version %s", form.Name(c.MCPVersion))
	}
	s.FactIn(form.HTML, "time", "%s, %s", moment(c.StartedAt), time.Duration(c.DurationMS)*time.Millisecond)
	s.FactIn(form.Pages, "checks", "%d of %d planned", len(c.Results), c.Planned)
	if n := len(c.BrainsLeft); n > 0 {
		s.Fact("brains", "%d left behind, which could not be deleted: %s", n, someOf(c.BrainsLeft, shownBrains, ", "))
	}
	out.Sections = append(out.Sections, s)
	return []*form.Report{out}
}

// broken counts the broken requirements.
func (c Conformance) broken() string {
	r := c.report()
	broken, kept := r.Count("", conformance.Must, conformance.Broken), r.Count("", conformance.Must, conformance.Kept)
	return fmt.Sprintf("%d of %d MUST requirements%s are broken", broken, broken+kept, r.Of())
}

// verdict passes if no MUST is broken.
func (c Conformance) verdict() form.Verdict {
	r := c.report()
	v := form.Verdict{Tone: form.Good, Mark: "✓", Word: "Pass", Title: form.F("Conformance of %s", form.Name(c.Endpoint))}
	switch {
	case r.Count("", conformance.Must, conformance.Broken) > 0:
		v.Tone, v.Mark, v.Word = form.Bad, "✗", "Fail"
	case !c.isWhole():
		v.Tone, v.Mark, v.Word = form.Doubt, "‖", "Inconclusive"
	case r.NotJudged() == len(r.Results): // nothing was found out
		v.Tone, v.Mark, v.Word = form.Doubt, "!", "Invalid"
	case r.Unsettled() != "":
		v.Tone, v.Mark, v.Word = form.Doubt, "‖", "Inconclusive"
	}
	v.Headline = form.F("%s: %s", v.Word, c.broken())
	should := r.Count("", conformance.Should, conformance.Broken)
	kept := r.Count("", conformance.Must, conformance.Kept) + r.Count("", conformance.Should, conformance.Kept)
	v.Sentences = []form.Text{form.F("%d SHOULD%s broken, %d kept, %d not judged", should, r.Of(), kept, r.NotJudged())}
	return v
}

// counts returns the checks by group, and by section of the specification.
func (c Conformance) counts() form.Section {
	s := form.Section{ID: "groups", Title: "Groups and sections"}
	table := func(caption, what string) *form.Table {
		return form.NewTable(form.F("%s", caption), what, ">MUST kept", ">MUST broken", ">SHOULD kept", ">SHOULD broken", ">not judged")
	}
	row := func(t *form.Table, name any, of func(conformance.Result) bool) {
		n := map[string]int{}
		for _, r := range c.Results {
			if of(r) && r.Verdict == conformance.NotJudged {
				n[""]++
			} else if of(r) {
				n[string(r.Level)+string(r.Verdict)]++
			}
		}
		must, should := string(conformance.Must), string(conformance.Should)
		t.Row(name, n[must+string(conformance.Kept)], n[must+string(conformance.Broken)], n[should+string(conformance.Kept)], n[should+string(conformance.Broken)], n[""])
	}
	groups := table("Checks by group", "group")
	for _, g := range c.report().Groups() {
		row(groups, g, func(r conformance.Result) bool { return r.Group == g })
	}
	row(groups, "all", func(conformance.Result) bool { return true })
	s.Show(form.Everywhere, groups)
	sections := table("Checks by section of the specification", "section")
	names := map[string]bool{}
	for _, r := range c.Results {
		names[r.Section] = true
	}
	for _, name := range sortedKeys(names) {
		row(sections, form.Name(name), func(r conformance.Result) bool { return r.Section == name })
	}
	s.Show(form.HTML, sections)
	return s
}

func checkRow(c conformance.Result) []any {
	id := form.Cell{Text: form.F("%s", form.Name(c.ID)), Mark: "?", Tone: form.Doubt}
	found := form.F("%s", form.Data(c.Detail))
	switch c.Verdict {
	case conformance.Kept:
		id.Mark, id.Tone = "✓", form.Good
	case conformance.Broken:
		id.Mark, id.Tone = "✗", form.Bad
	default:
		found = form.F("%s: %s", c.Reason, found)
	}
	return []any{id, string(c.Level), form.Name(c.Section), form.Data(c.Sentence), found}
}

// wholeReport is where to find items that do not fit into a summary.
const wholeReport = "the report of evalctl conformance --format json"

// The limits of the shown findings, unjudged checks and brains.
const (
	shownChecks   = 10
	shownUnjudged = 20
	shownBrains   = 10
)

// findingItem returns a list item for a finding with its evidence.
func findingItem(f conformance.Finding) form.Item {
	item := form.Item{Tone: form.Doubt}
	if f.Level == conformance.Must {
		item.Tone = form.Bad
	}
	item.Head = form.F("%s %s", form.Toned(item.Tone, string(f.Level)), form.Data(f.Cause))
	add := func(name, format string, args ...any) {
		item.Below = append(item.Below, form.Fact{Name: name, Value: form.F(format, args...), In: form.Everywhere})
	}
	add("", "%s", form.Data(f.Summary(shownChecks)))
	if f.Sentence != "" {
		add("", "spec %s: %s", form.Name(f.Section), form.Data(f.Sentence))
	}
	add("detail", "%s", form.Data(f.Detail))
	if f.Request != "" {
		add("request", "%s", form.Message(f.Request))
	}
	if f.Response != "" {
		add("response", "%s", form.Message(f.Response))
	}
	return item
}

// groupItem returns a list item for a group of unjudged checks.
func groupItem(g conformance.Group) form.Item {
	item := form.Item{Head: form.F("%d: %s", len(g.Results), form.Data(g.String()))}
	if first := g.Results[0]; first.Reason != conformance.ReasonNeed {
		item.Below = form.Facts{{Value: form.F("such as %s: %s", form.Name(first.ID), form.Data(first.Detail)), In: form.Everywhere}}
	}
	return item
}

// annotations returns the findings of level MUST. For an incomplete run, they follow an annotation
// about it.
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
