package form

import (
	"slices"
)

// SideBySide merges the Markdown of several reports into two sections: the differences, and the
// common facts. Facts that differ have a column for each report. The rows of tables begin with the
// name of their report. Each sentence appears once.
func SideBySide(names []Name, reports []*Report) (differing, common Section) {
	m := merger{names: names}
	for i, r := range reports {
		for _, w := range r.Warnings {
			m.sentence(i, Warning(w), w)
		}
		for s := range r.Sections {
			for _, b := range r.Sections[s].For(Markdown) {
				m.add(i, b.Content)
			}
		}
	}
	return m.differing(), m.common()
}

// merger collects the contents of several reports.
type merger struct {
	names     []Name
	sentences []counterpart[Text]
	facts     []counterpart[Text]
	tables    []counterpart[*Table]
	lists     []List
}

// counterpart is a content that some of the reports have, with a value for each of them.
type counterpart[T any] struct {
	key     string
	warning bool
	values  []*T
}

// at returns the content with this key, which is added if it is new.
func at[T any](list *[]counterpart[T], key string, reports int) *counterpart[T] {
	i := slices.IndexFunc(*list, func(m counterpart[T]) bool { return m.key == key })
	if i < 0 {
		i = len(*list)
		*list = append(*list, counterpart[T]{key: key, values: make([]*T, reports)})
	}
	return &(*list)[i]
}

// add adds a content of a report.
func (m *merger) add(report int, content any) {
	switch c := content.(type) {
	case Facts:
		for _, f := range c {
			fact := at(&m.facts, f.Name, len(m.names))
			if before := fact.values[report]; before != nil {
				f.Value = F("%s  %s", *before, f.Value)
			}
			fact.values[report] = &f.Value
		}
	case Note:
		m.sentence(report, content, Text(c))
	case Warning:
		m.sentence(report, content, Text(c))
	case *Table:
		key := ""
		for _, column := range c.Columns {
			key += column.Name.With(inCell) + "|"
		}
		at(&m.tables, key, len(m.names)).values[report] = &c
	case List:
		m.lists = append(m.lists, c)
	}
}

func (m *merger) sentence(report int, content any, text Text) {
	s := at(&m.sentences, text.With(inMarkdown), len(m.names))
	_, s.warning = content.(Warning)
	s.values[report] = &text
}

// differing returns warnings, facts that differ, tables and notes.
func (m *merger) differing() (s Section) {
	for _, w := range m.sentences {
		if w.warning {
			s.Warn(Markdown, "%s", m.said(w))
		}
	}
	columns := []any{"what"}
	for _, n := range m.names {
		columns = append(columns, n)
	}
	facts := NewTable(Text{}, columns...)
	for _, f := range m.facts {
		if row := append([]any{f.key}, cells(f.values)...); !same(f.values) {
			facts.Row(row...)
		}
	}
	s.Show(Markdown, facts)
	for _, t := range m.tables {
		s.Show(Markdown, m.rows(t))
	}
	for _, n := range m.sentences {
		if !n.warning {
			s.Note(Markdown, "%s", m.said(n))
		}
	}
	for _, l := range m.lists {
		s.Show(Markdown, l)
	}
	return s
}

// common returns the facts that are the same in all reports.
func (m *merger) common() (s Section) {
	for _, f := range m.facts {
		if same(f.values) {
			s.FactIn(Markdown, f.key, "%s", *f.values[0])
		}
	}
	return s
}

// said returns a sentence with the names of its reports, if these are not all.
func (m *merger) said(s counterpart[Text]) Text {
	var of []Name
	text := Text{}
	for i, v := range s.values {
		if v != nil {
			of, text = append(of, m.names[i]), *v
		}
	}
	if len(of) == len(m.names) {
		return text
	}
	return F("%s: %s", Join(", ", of...), text)
}

// rows returns the table with the rows of all reports.
func (m *merger) rows(t counterpart[*Table]) *Table {
	out := &Table{Columns: []Column{{In: Everywhere}}}
	for i, v := range t.values {
		if v == nil {
			continue
		}
		if len(out.Columns) == 1 {
			out.Columns = append(out.Columns, (*v).Columns...)
		}
		for _, r := range (*v).Rows {
			name := Cell{Text: F("%s", m.names[i])}
			out.Rows = append(out.Rows, Row{r.In, append([]Cell{name}, r.Cells...)})
		}
	}
	return out
}

// cells returns the values as cells of a table, with a dash where there is none.
func cells(values []*Text) (out []any) {
	for _, v := range values {
		if v == nil {
			out = append(out, "–")
			continue
		}
		out = append(out, *v)
	}
	return out
}

// same reports whether all reports have the same value.
func same(values []*Text) bool {
	return !slices.ContainsFunc(values, func(v *Text) bool {
		return values[0] == nil || v == nil || v.With(inMarkdown) != values[0].With(inMarkdown)
	})
}
