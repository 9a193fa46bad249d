package page

import (
	"cmp"
	"fmt"
	"time"

	"evalctl/harness/conformance"
)

// addConformance adds all sections of a report of conformance.
func (d *document) addConformance(r *conformance.Report) {
	d.Title = "Conformance of " + name(r.Endpoint)
	d.Band = conformanceBand(r)
	if r.Partial {
		d.Warnings = append(d.Warnings, fmt.Sprintf("stopped after %d of %s: this is not a verdict", len(r.Results), count(r.Planned, "check")))
	}
	for _, death := range r.Deaths {
		d.Warnings = append(d.Warnings, line("the daemon died "+death.String(), foundLength))
	}
	if text := r.Unsettled(); text != "" {
		d.Warnings = append(d.Warnings, "much is not judged: "+text)
	}
	if len(r.BrainsLeft) > 0 {
		d.Warnings = append(d.Warnings, "not deleted: brains "+some(r.BrainsLeft))
	}
	if len(r.Normalised) > 0 {
		d.Warnings = append(d.Warnings, "found once, and allowed for in the other checks: "+some(r.Normalised))
	}
	if len(r.Findings) > 0 {
		d.add(section{ID: "findings", Title: fmt.Sprintf("Findings: %d", len(r.Findings)), Blocks: []block{{Findings: findingsOf(r)}}})
	}
	if groups := r.Unjudged(); len(groups) > 0 {
		d.add(section{ID: "causes", Title: fmt.Sprintf("Not judged, by cause: %d", len(groups)), Blocks: []block{{Table: causeTable(groups)}}})
	}
	d.add(groupSection(r))
	d.addChecks(r)
	d.add(section{ID: "ran", Title: "What ran", Blocks: []block{{Facts: []fact{
		{Name: "Endpoint", Value: name(r.Endpoint)},
		{Name: "Profile", Value: cmp.Or(name(string(r.Profile)), "not recorded")},
		{Name: "Started", Value: moment(r.StartedAt)},
		{Name: "Took", Value: (time.Duration(r.DurationMS) * time.Millisecond).Round(10 * time.Millisecond).String()},
		{Name: "Checks", Value: fmt.Sprintf("%d of %d planned", len(r.Results), r.Planned)},
	}}}})
}

// addChecks adds a section for the checks of each verdict.
func (d *document) addChecks(r *conformance.Report) {
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
		t := &table{Caption: part.title, Columns: columns("check", "level", "section", "requirement")}
		if part.verdict != conformance.Kept {
			t.Columns = append(t.Columns, column{Name: "found"})
		}
		for _, c := range r.Results {
			if c.Verdict == part.verdict && (part.level == "" || c.Level == part.level) {
				t.row(checkRow(c)...)
			}
		}
		if len(t.Rows) > 0 {
			d.add(section{ID: part.id, Title: fmt.Sprintf("%s: %d", part.title, len(t.Rows)), Blocks: []block{{Table: t}}})
		}
	}
}

// finding is a cause of broken checks with its evidence. It is folded unless it is the first.
type finding struct {
	Level, Class, Cause, Summary string
	Facts                        []fact
	Request, Response            text
	Open                         bool
}

// evidenceLength is how much of a request or a response is shown, in bytes.
const evidenceLength = 4 << 10

func findingsOf(r *conformance.Report) []finding {
	list := make([]finding, len(r.Findings))
	for i, f := range r.Findings {
		list[i] = finding{Level: string(f.Level), Class: "warn", Cause: line(f.Cause, foundLength), Open: i == 0,
			Summary: line(f.Summary(len(f.Checks)), foundLength), Facts: []fact{{Name: "Found", Value: line(f.Detail, foundLength)}},
			Request: cut(f.Request, evidenceLength), Response: cut(f.Response, evidenceLength)}
		if f.Level == conformance.Must {
			list[i].Class = "fail"
		}
		if f.Sentence != "" {
			list[i].Facts = append([]fact{{Name: "Section " + name(f.Section), Value: line(f.Sentence, foundLength)}}, list[i].Facts...)
		}
	}
	return list
}

func causeTable(groups []conformance.Group) *table {
	t := &table{Caption: "Checks that are not judged, by cause", Columns: columns("cause", ">checks", "such as")}
	for _, g := range groups {
		t.row(cell{Text: line(g.String(), foundLength), Mark: "?", Class: "warn"}, cell{Text: fmt.Sprint(len(g.Results))},
			cell{Text: name(g.Results[0].ID) + ": " + line(g.Results[0].Detail, foundLength)})
	}
	return t
}

// conformanceBand returns the verdict: no MUST may be broken.
func conformanceBand(r *conformance.Report) band {
	must, should := r.Count("", conformance.Must, conformance.Broken), r.Count("", conformance.Should, conformance.Broken)
	kept := r.Count("", conformance.Must, conformance.Kept) + r.Count("", conformance.Should, conformance.Kept)
	b := band{Heading: "Conformance of " + name(r.Endpoint), Class: "pass", Mark: "✓", Word: "No MUST broken",
		Sentence: fmt.Sprintf("%d MUST and %d SHOULD%s broken, %d kept, %d not judged", must, should, r.Of(), kept, r.NotJudged(""))}
	switch {
	case must > 0:
		b.Class, b.Mark, b.Word = "fail", "✗", "MUST broken"
	case r.Partial || len(r.Deaths) > 0:
		b.Class, b.Mark, b.Word = "warn", "‖", "Inconclusive"
	case kept == 0:
		b.Class, b.Mark, b.Word = "warn", "!", "Nothing was judged"
	case r.Unsettled() != "":
		b.Class, b.Mark, b.Word = "warn", "‖", "Inconclusive"
	}
	return b
}

// groupSection counts the checks by group and by section of the specification.
func groupSection(r *conformance.Report) section {
	heads := []string{">MUST kept", ">MUST broken", ">SHOULD kept", ">SHOULD broken", ">not judged"}
	count := func(t *table, what string, of func(conformance.Result) bool) {
		n := map[string]int{}
		for _, c := range r.Results {
			switch {
			case !of(c):
			case c.Verdict == conformance.NotJudged:
				n["not judged"]++
			default:
				n[string(c.Level)+" "+string(c.Verdict)]++
			}
		}
		row := cells(what)
		for _, head := range heads {
			row = append(row, cell{Text: fmt.Sprint(n[head[1:]])})
		}
		t.row(row...)
	}
	groups := &table{Caption: "Checks by group", Columns: columns(append([]string{"group"}, heads...)...)}
	for _, g := range r.Groups() {
		count(groups, name(g), func(c conformance.Result) bool { return c.Group == g })
	}
	count(groups, "all", func(conformance.Result) bool { return true })
	parts := map[string]bool{}
	for _, c := range r.Results {
		parts[c.Section] = true
	}
	sections := &table{Caption: "Checks by section of the specification", Columns: columns(append([]string{"section"}, heads...)...)}
	for _, part := range sortedKeys(parts) {
		count(sections, name(part), func(c conformance.Result) bool { return c.Section == part })
	}
	return section{ID: "groups", Title: "Groups and sections", Blocks: []block{{Table: groups}, {Table: sections}}}
}

// foundLength is how much of the detail of a check is shown.
const foundLength = 1000

func checkRow(c conformance.Result) []cell {
	row := append([]cell{{Text: name(c.ID)}}, cells(string(c.Level), name(c.Section), line(c.Sentence, foundLength))...)
	found := line(c.Detail, foundLength)
	switch c.Verdict {
	case conformance.Kept:
		row[0].Mark, row[0].Class = "✓", "pass"
		return row
	case conformance.Broken:
		row[0].Mark, row[0].Class = "✗", "fail"
	default:
		row[0].Mark, row[0].Class = "?", "warn"
		found = c.Reason.String() + ": " + found
	}
	return append(row, cell{Text: found})
}
