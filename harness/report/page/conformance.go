package page

import (
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
	if r.Death != nil {
		d.Warnings = append(d.Warnings, "the daemon stopped answering")
	}
	if len(r.BrainsLeft) > 0 {
		d.Warnings = append(d.Warnings, "not deleted: brains "+some(r.BrainsLeft))
	}
	d.add(groupSection(r))
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
		t := &table{Caption: part.title, Columns: columns("check", "level", "section", "requirement", "found")}
		for _, c := range r.Results {
			if c.Verdict == part.verdict && (part.level == "" || c.Level == part.level) {
				t.row(checkRow(c)...)
			}
		}
		if len(t.Rows) > 0 {
			d.add(section{ID: part.id, Title: fmt.Sprintf("%s: %d", part.title, len(t.Rows)), Blocks: []block{{Table: t}}})
		}
	}
	d.add(section{ID: "ran", Title: "What ran", Blocks: []block{{Facts: []fact{
		{Name: "Endpoint", Value: name(r.Endpoint)},
		{Name: "Started", Value: moment(r.StartedAt)},
		{Name: "Took", Value: (time.Duration(r.DurationMS) * time.Millisecond).Round(10 * time.Millisecond).String()},
		{Name: "Checks", Value: fmt.Sprintf("%d of %d planned", len(r.Results), r.Planned)},
	}}}})
}

// conformanceBand returns the verdict: no MUST may be broken.
func conformanceBand(r *conformance.Report) band {
	must, should := r.Count("", conformance.Must, conformance.Broken), r.Count("", conformance.Should, conformance.Broken)
	kept := r.Count("", conformance.Must, conformance.Kept) + r.Count("", conformance.Should, conformance.Kept)
	b := band{Heading: "Conformance of " + name(r.Endpoint), Class: "pass", Mark: "✓", Word: "Conforms",
		Sentence: fmt.Sprintf("%d MUST and %d SHOULD broken, %d kept, %d not judged", must, should, kept, r.NotJudged(""))}
	switch {
	case must > 0:
		b.Class, b.Mark, b.Word = "fail", "✗", "Does not conform"
	case r.Partial || r.Death != nil:
		b.Class, b.Mark, b.Word = "warn", "‖", "Inconclusive"
	case kept == 0:
		b.Class, b.Mark, b.Word = "warn", "!", "Nothing was judged"
	}
	return b
}

func groupSection(r *conformance.Report) section {
	t := &table{Caption: "Checks by group", Columns: columns("group", ">MUST kept", ">MUST broken", ">SHOULD kept", ">SHOULD broken", ">not judged")}
	for _, g := range append(r.Groups(), "") {
		what := name(g)
		if g == "" {
			what = "all"
		}
		n := func(l conformance.Level, v conformance.Verdict) string { return fmt.Sprint(r.Count(g, l, v)) }
		t.row(cells(what, n(conformance.Must, conformance.Kept), n(conformance.Must, conformance.Broken),
			n(conformance.Should, conformance.Kept), n(conformance.Should, conformance.Broken), fmt.Sprint(r.NotJudged(g)))...)
	}
	return section{ID: "groups", Title: "Groups", Blocks: []block{{Table: t}}}
}

// foundLength is how much of the detail of a check is shown.
const foundLength = 1000

func checkRow(c conformance.Result) []cell {
	found := line(c.Detail, foundLength)
	if c.Verdict == conformance.NotJudged {
		found = c.Reason.String() + ": " + found
	}
	if c.Request != "" && c.Verdict != conformance.Kept {
		found += " (" + line(c.Request, foundLength) + ")"
	}
	mark := map[conformance.Verdict]cell{
		conformance.Kept: {Mark: "✓", Class: "pass"}, conformance.Broken: {Mark: "✗", Class: "fail"}, conformance.NotJudged: {Mark: "?", Class: "warn"},
	}[c.Verdict]
	mark.Text = name(c.ID)
	return append([]cell{mark}, cells(string(c.Level), name(c.Section), line(c.Sentence, foundLength), found)...)
}
