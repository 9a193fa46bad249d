package form

import (
	"html/template"
	"slices"
	"strings"
)

// Table is a table whose first column names the rows.
type Table struct {
	Caption Text
	Columns []Column
	Rows    []Row
	// Most limits the rows on a terminal, 0 for all.
	Most int
}

// Column is the head of a column.
type Column struct {
	Name Text
	// Number aligns the cells to the right.
	Number bool
	// Spare is set if a terminal leaves out the column where the table does not fit.
	Spare bool
	In    Forms
}

// NewTable returns a table with columns, which are Columns, data, Texts or strings. A string may
// have a prefix: ">" for numbers, "#" for a column only in HTML, "|" for a column that terminals
// omit.
func NewTable(caption Text, columns ...any) *Table {
	t := &Table{Caption: caption}
	for _, v := range columns {
		c, ok := v.(Column)
		if !ok {
			c = columnOf(v)
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

func columnOf(v any) Column {
	c := Column{Name: textOf(v), In: Everywhere}
	name, ok := v.(string)
	if !ok {
		return c
	}
	c.Number = strings.Contains(prefix(name), ">")
	switch {
	case strings.Contains(prefix(name), "#"):
		c.In = HTML
	case strings.Contains(prefix(name), "|"):
		c.In = Pages
	}
	c.Name = textOf(name[len(prefix(name)):])
	return c
}

// prefix returns the prefix of a column name.
func prefix(name string) string { return name[:len(name)-len(strings.TrimLeft(name, ">#|"))] }

// Row is a row for some forms.
type Row struct {
	In    Forms
	Cells []Cell
}

// Row adds a row of Cells, Texts, data, or anything that fmt.Sprint formats.
func (t *Table) Row(cells ...any) { t.RowIn(Everywhere, cells...) }

// RowIn is like Row, for some forms only.
func (t *Table) RowIn(in Forms, cells ...any) {
	row := Row{in, make([]Cell, len(cells))}
	for i, c := range cells {
		if known, ok := c.(Cell); ok {
			row.Cells[i] = known
		} else {
			row.Cells[i].Text = textOf(c)
		}
	}
	t.Rows = append(t.Rows, row)
}

// For returns the table with the columns and the rows of a form.
func (t *Table) For(in Forms) *Table {
	out := t.with(func(c Column) bool { return c.In&in != 0 })
	out.Rows = slices.DeleteFunc(out.Rows, func(r Row) bool { return r.In&in == 0 })
	return out
}

// with returns a copy with some of the columns.
func (t *Table) with(keep func(Column) bool) *Table {
	out := &Table{Caption: t.Caption, Most: t.Most}
	for _, c := range t.Columns {
		if keep(c) {
			out.Columns = append(out.Columns, c)
		}
	}
	for _, r := range t.Rows {
		row := Row{In: r.In}
		for i, c := range r.Cells {
			if keep(t.Columns[i]) {
				row.Cells = append(row.Cells, c)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Cell is a text, with a mark, a bar, or a link.
type Cell struct {
	Text Text
	Tone Tone
	// Mark is a sign for something that Text says in words, for HTML.
	Mark string
	// Bar draws the value, for HTML.
	Bar func() template.HTML
	URL string
}
