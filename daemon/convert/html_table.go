package convert

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxColumns bounds a table that is written as one.
const maxColumns = 64

// table writes a table as a table, or its cells as blocks if it is only used for layout.
func (w *htmlWriter) table(n *html.Node) {
	rows := rowsOf(n)
	columns := columnsOf(rows)
	if w.page.has(n, bigBlocks) || len(rows) < 2 || columns < 2 || columns > maxColumns {
		w.children(n)
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Caption && !isHidden(c) {
			w.children(c)
			w.flush()
		}
	}
	var b strings.Builder
	down := make([]spanning, columns)
	for i, row := range rows {
		if w.check(b.Len()); w.err != nil {
			return
		}
		if i > 0 && row.Parent != rows[i-1].Parent {
			clear(down) // a cell ends with its group of rows
		}
		written := w.row(&b, row, down)
		if i == 0 {
			// The header has all columns. Other rows may be shorter.
			b.WriteString(strings.Repeat("| ", columns-written) + "|\n")
			b.WriteString(strings.Repeat("| --- ", columns))
		}
		b.WriteString("|\n")
	}
	w.lines(b.String())
}

// spanning is a cell of an earlier row that goes on in a column. Its text is repeated, because
// Markdown has no such cells.
type spanning struct {
	text string
	rows int // further rows
}

// row writes the cells of a row, each on one line, together with cells that continue from rows
// above, and returns the number of columns.
func (w *htmlWriter) row(b *strings.Builder, row *html.Node, down []spanning) (columns int) {
	place(row, down, func(column int, c *html.Node, first bool) {
		switch {
		case c != nil && first:
			down[column].text = w.cell(c)
		case c != nil:
			down[column].text = ""
		}
		b.WriteString("| ")
		if text := down[column].text; text != "" {
			b.WriteString(text)
			b.WriteByte(' ')
		}
		columns = column + 1
	})
	return columns
}

// cell returns the text of a cell on one line.
func (w *htmlWriter) cell(c *html.Node) string {
	w.inline.inCell = true
	w.flat++
	if !isHidden(c) {
		w.children(c)
	}
	w.flat--
	w.inline.inCell = false
	return w.inline.take()
}

// place calls write for each column of a row, in order: with the cell that begins or goes on there,
// or nil for a cell of a row above. It is the algorithm of the HTML standard for forming a table
// (section 4.9.12). Columns after the last of down are left out.
func place(row *html.Node, down []spanning, write func(column int, cell *html.Node, first bool)) {
	column := 0
	above := func() { // the cells of rows above that are next
		for ; column < len(down) && down[column].rows > 0; column++ {
			down[column].rows--
			write(column, nil, false)
		}
	}
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if !isCell(c) {
			continue
		}
		above()
		for i := range span(c, "colspan", maxColumns) {
			if column < len(down) {
				down[column].rows = rowsBelow(c)
				write(column, c, i == 0)
				column++
			}
		}
	}
	for last := len(down); column < last; {
		for last > column && down[last-1].rows == 0 {
			last--
		}
		if above(); column < last {
			down[column].text = ""
			write(column, nil, false)
			column++
		}
	}
}

// rowsBelow returns how many further rows a cell has: all of its group if rowspan is 0.
func rowsBelow(c *html.Node) int {
	const most = 65534
	if strings.TrimSpace(attribute(c, "rowspan")) == "0" {
		return most
	}
	return span(c, "rowspan", most) - 1
}

// rowsOf returns the rows of a table, without the rows of nested tables.
func rowsOf(table *html.Node) []*html.Node {
	var rows []*html.Node
	for c := table.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Tr:
			if !isHidden(c) {
				rows = append(rows, c)
			}
		case atom.Thead, atom.Tbody, atom.Tfoot:
			if isHidden(c) {
				continue
			}
			for r := c.FirstChild; r != nil; r = r.NextSibling {
				if r.DataAtom == atom.Tr && !isHidden(r) {
					rows = append(rows, r)
				}
			}
		}
	}
	return rows
}

// columnsOf returns the number of columns of a table, at most one more than can be written.
func columnsOf(rows []*html.Node) (columns int) {
	down := make([]spanning, maxColumns+1)
	for i, row := range rows {
		if i > 0 && row.Parent != rows[i-1].Parent {
			clear(down)
		}
		place(row, down, func(column int, _ *html.Node, _ bool) { columns = max(columns, column+1) })
	}
	return columns
}

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

// span returns a number of columns or rows of a cell.
func span(cell *html.Node, key string, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(attribute(cell, key)))
	if err != nil || n < 1 || n > most {
		return 1
	}
	return n
}
