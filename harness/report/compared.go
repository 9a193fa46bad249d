package report

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/markdown"
)

// Replay is what a replay of several arms measured, and how they compare with each other.
type Replay struct {
	Arms
	Compared *compare.Arms
}

func (r Replay) page() *Page { return &Page{Compared: r.Compared} }

// write writes how the arms compare, and then a section for each.
func (r Replay) write(p *summary) {
	p.printf("## Comparison of %s\n\n", join(markdown.Code, r.Compared.Names...))
	for _, sentence := range r.Compared.Sentences() {
		p.printf("- %s\n", markdown.Span(sentence, sentenceLength))
	}
	p.printf("\n")
	Compared{r.Compared}.write(p)
	common := r.common()
	for i := range r.Arms {
		r.Arms[i].write(p, common)
	}
	if len(common) > 0 {
		p.printf("## All arms\n\n")
		first := slices.IndexFunc(r.Arms, func(a Arm) bool { return a.Run != nil })
		writeInputs(p, r.Arms[first].inputs(), func(in part) bool { return common[in] })
	}
	ids, lost := r.lost()
	p.fold(fmt.Sprintf("Questions that an arm did not pass: %d", len(ids)), len(ids), "the result files",
		func(i int) string { return r.item(lost[ids[i]]) })
}

// common returns the inputs that all arms with a result have, if there are several.
func (r Replay) common() map[part]bool {
	seen, common, runs := map[part]int{}, map[part]bool{}, 0
	for i := range r.Arms {
		if r.Arms[i].Run == nil {
			continue
		}
		runs++
		for _, in := range r.Arms[i].inputs() {
			seen[in]++
		}
	}
	for in, n := range seen {
		if n == runs && runs > 1 {
			common[in] = true
		}
	}
	return common
}

// lost returns the names of the questions that some arm did not pass, in the order of the first
// arms, and by name the record of each arm, nil for an arm that has not asked the question.
func (r Replay) lost() (names []string, records map[string][]*result.Record) {
	records = map[string][]*result.Record{}
	var all []string
	for i, a := range r.Arms {
		if a.Run == nil {
			continue
		}
		for q := range a.Run.Questions {
			rec := &a.Run.Questions[q]
			name := caseName(rec)
			if records[name] == nil {
				records[name] = make([]*result.Record, len(r.Arms))
				all = append(all, name)
			}
			records[name][i] = rec
		}
	}
	for _, name := range all {
		if slices.ContainsFunc(records[name], func(rec *result.Record) bool { return rec != nil && isLost(rec) }) {
			names = append(names, name)
		}
	}
	return names, records
}

// item returns a question that some arm did not pass as an item of a list: what was asked once, and
// what became of it in each arm.
func (r Replay) item(records []*result.Record) string {
	var b strings.Builder
	first := slices.IndexFunc(records, func(rec *result.Record) bool { return rec != nil && isLost(rec) })
	asked := slices.DeleteFunc(r.Arms[first].Run.parts(records[first]), func(p part) bool {
		return p.what != "question" && p.what != "expected"
	})
	fmt.Fprintf(&b, "- %s %s\n", markdown.Code(caseName(records[first])), markdown.Code(group(records[first])))
	for _, part := range asked {
		fmt.Fprintf(&b, "  - %s: %s\n", part.what, markdown.Span(part.text, textLength))
	}
	for i, rec := range records {
		if r.Arms[i].Run == nil {
			continue
		}
		words := []string{"not asked"}
		switch {
		case rec == nil:
		case rec.Passed:
			words[0] = "passed"
		case !isLost(rec):
			words[0] = string(rec.Outcome)
		default:
			words[0] = "**" + outcomeWord(rec) + "**"
			for _, part := range r.Arms[i].Run.parts(rec) {
				if !slices.Contains(asked, part) {
					words = append(words, part.what+": "+markdown.Span(part.text, textLength))
				}
			}
		}
		fmt.Fprintf(&b, "  - %s: %s\n", markdown.Code(r.Arms[i].Name), strings.Join(words, "; "))
	}
	return b.String()
}

// Compared is how the arms of a replay compare: the figures, without the sentences of
// compare.Arms.Sentences.
type Compared struct{ *compare.Arms }

func (Compared) suites() []suite           { return nil }
func (Compared) annotations() []annotation { return nil }
func (c Compared) page() *Page             { return &Page{Compared: c.Arms} }

// write writes in what the arms differ besides their results, and the comparison if there is one.
func (c Compared) write(p *summary) {
	for _, s := range c.sections() {
		s.Markdown(p.Summary)
	}
}

// sections returns what is known about the arms against each other.
func (c Compared) sections() []form.Section {
	s := form.Section{ID: "arms", Title: "Arms"}
	names := []any{"what was seen"}
	for _, n := range c.Names {
		names = append(names, form.Name(n))
	}
	t := form.NewTable(form.F("What was seen of the arms besides their results"), names...)
	for _, f := range c.Facts {
		row := []any{f.Name}
		for _, v := range f.Values {
			row = append(row, form.Name(v))
		}
		t.Row(row...)
	}
	s.Show(form.Pages, t)
	if c.Refused != nil {
		s.Show(form.HTML, refused(c.Refused))
	}
	if c.Comparison == nil {
		return []form.Section{s}
	}
	return append([]form.Section{s}, Comparison{c.Comparison}.sections()...)
}

// refused has the differences for which the arms are not compared.
func refused(e *compare.IncomparableError) *form.Table {
	names := []any{"differs in"}
	for _, n := range e.Names {
		names = append(names, form.Name(n))
	}
	t := form.NewTable(form.F("Differences that were not accepted"), names...)
	for _, k := range e.Keys {
		if !slices.Contains(e.Differing, k.Name) {
			continue
		}
		row := []any{form.Name(k.Name)}
		for _, v := range k.Values {
			row = append(row, keyValue(v))
		}
		t.Row(row...)
	}
	return t
}

// report returns what is known about the arms against each other, for a page of its own.
func (c Compared) report() *form.Report {
	r := &form.Report{Sections: c.sections(), Verdict: form.Verdict{Tone: form.Doubt, Mark: "≠", Word: "Not comparable"}}
	switch {
	case c.Comparison != nil:
		r.Verdict = Comparison{c.Comparison}.verdict()
	case c.Refused == nil:
		r.Verdict.Tone, r.Verdict.Mark, r.Verdict.Word = form.None, "–", "Not compared"
	}
	r.Verdict.Title = form.F("Comparison of %s", form.Join(", ", form.Names(c.Names)...))
	r.Verdict.Sentences = dataOf(c.Sentences())
	return r
}
