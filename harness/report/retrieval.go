package report

import (
	"fmt"
	"strings"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
)

// retrieval returns the retrieval metrics with their intervals, and by tag: by evidence if there is
// some, and by documents.
func (run *Run) retrieval() form.Section {
	s := form.Section{ID: "retrieval", Title: "Retrieval"}
	e, r := run.Result.Evidence, run.Result.Retrieval
	run.retrievalFigures(&s, e, ofEvidence)
	run.retrievalFigures(&s, r, ofDocuments)
	run.byTag(&s, e, ofEvidence)
	run.byTag(&s, r, ofDocuments)
	run.doubts(&s, e, ofEvidence)
	run.doubts(&s, r, ofDocuments)
	if m := run.Result.Mapped; m != nil && r == nil { // else they are among its warnings
		for _, finding := range m.Findings {
			s.Warn(form.Everywhere, "about the memory: %s", form.Data(finding))
		}
	}
	if r != nil && len(r.Ks) > 0 {
		depths := form.NewTable(form.F("Means by depth"), "metric")
		for _, k := range r.Ks {
			depths.Columns = append(depths.Columns, form.Column{Name: form.F("at %d", k), Number: true, In: form.Everywhere})
		}
		for _, metric := range []string{"recall", "any", "all", "precision", "success", "ndcg"} {
			row := []any{metricName(metric)}
			for _, k := range r.Ks {
				row = append(row, metricAt(r.Macro, fmt.Sprintf("%s@%d", metric, k)))
			}
			depths.Row(row...)
		}
		s.Show(form.HTML, depths)
	}
	return s
}

// The two ways to measure retrieval, with the names of the fact and of its questions.
type goldName struct{ fact, field, table string }

var (
	ofEvidence  = goldName{"evidence", "expected_evidence", "Means over the questions with expected evidence"}
	ofDocuments = goldName{"retrieval", "expected_paths", "Means over the questions with expected paths"}
)

// doubts adds the warnings about the metrics by one kind of gold.
func (run *Run) doubts(s *form.Section, r *result.Retrieval, by goldName) {
	if r == nil {
		return
	}
	for i, w := range r.Warnings {
		in, text := form.Everywhere, form.F("%s", form.Data(w.Message))
		if i < run.Warned && by == ofDocuments {
			in = form.Pages
		}
		if len(w.IDs) > 0 {
			ids := form.Join(", ", form.Names(w.IDs)...)
			if more := w.Count - len(w.IDs); more > 0 {
				ids = form.F("%s, and %d more", ids, more)
			}
			text = form.F("%s (%s)", text, ids)
		}
		s.Warn(in, "%s", text)
	}
}

func metricAt(m result.Metrics, name string) string {
	v, ok := m[name]
	if !ok {
		return none
	}
	return figure.Rate(&v)
}

// retrievalFigures adds the primary metrics by one kind of gold, and the amount of returned text.
func (run *Run) retrievalFigures(s *form.Section, r *result.Retrieval, by goldName) {
	if r == nil || len(r.Ks) == 0 {
		return
	}
	res := &run.Result
	names := r.PrimaryMetrics()
	var parts []string
	for _, name := range names {
		part := metricName(name) + " " + metricAt(r.Macro, name)
		if i, ok := r.Intervals[name]; ok {
			part += fmt.Sprintf(" [%.3f %.3f]", i.Low, i.High)
		}
		parts = append(parts, part)
	}
	s.Fact(by.fact, "%s", form.Parts(parts...))
	thing := "question"
	if res.Repeats != nil {
		thing = "attempt"
	}
	over := fmt.Sprintf("over %s with %s", figure.Count(r.Questions, thing), by.field)
	if r.NoGold > 0 {
		over += fmt.Sprintf(", leaving out %d without", r.NoGold)
	}
	if r.Cut > 0 && by == ofEvidence {
		over += fmt.Sprintf(", leaving out %d whose passages are previews, which may be cut", r.Cut)
	}
	about := []form.Text{form.F("%s", over)}
	if name := wording.RetrievalInterval(r); name != "" {
		text := form.F("brackets: %s", form.Name(name))
		if cluster := clustersOf(r); cluster != "" {
			text = form.F("%s, clusters: %s (%d)", text, form.Name(cluster), r.Basis.Units)
		}
		about = []form.Text{text, about[0]}
	}
	if r.Errors > 0 {
		about = append(about, form.F("%s count as 0", figure.Count(r.Errors, "error")))
	}
	if r.Cut > 0 && by == ofDocuments {
		about = append(about, form.F("not by evidence: the passages of %d are previews, which may be cut", r.Cut))
	}
	if res.GoldMissed > 0 && by == ofDocuments {
		about = append(about, form.F("%d with no gold document in the top %d", res.GoldMissed, r.Ks[len(r.Ks)-1]))
	}
	s.Fact("", "%s", form.Parts(about...))
	if b := r.Basis; b != nil && b.Resamples > 0 {
		s.FactIn(form.Pages, "", "%d resamples, seed %d", b.Resamples, b.Seed)
	}
	if text := returnedText(r); text != nil && (by == ofEvidence || res.Evidence == nil) {
		s.Fact("returned", "%s", form.Parts(text...))
	}
	if depth := wording.Depth(res); depth != "" && by == ofDocuments {
		s.FactIn(run.unlessReplay(), "depth", "%s", depth)
	}
}

// byTag adds the primary metrics by tag. A terminal shows only the kind of gold that scores.
func (run *Run) byTag(s *form.Section, r *result.Retrieval, by goldName) {
	if r == nil || len(r.Ks) == 0 {
		return
	}
	res, names := &run.Result, r.PrimaryMetrics()
	columns := []any{"tag", ">n"}
	for _, name := range names {
		metric, _, _ := strings.Cut(metricName(name), "@") // the lines above show the depth
		columns = append(columns, ">"+metric)
	}
	t := form.NewTable(form.F("%s", by.table), columns...)
	row := func(in form.Forms, what any, n int, m result.Metrics) {
		cells := []any{what, n}
		for _, name := range names {
			cells = append(cells, metricAt(m, name))
		}
		t.RowIn(in, cells...)
	}
	row(form.Pages, "all with gold", r.Questions, r.Macro)
	for _, tag := range sortedKeys(r.ByTag) {
		if m := r.ByTag[tag]; m != nil {
			in := form.Everywhere
			if res.Duplicate(tag) {
				in = form.Terminal
			}
			row(in, form.Name(tag), m.N, m.Macro)
		}
	}
	in := run.unlessReplay() &^ form.Markdown
	if by == ofDocuments && res.Evidence != nil {
		in &^= form.Terminal
	}
	s.Show(in, t)
}
