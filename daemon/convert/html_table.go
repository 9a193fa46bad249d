package convert

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxColumns bounds a table that is written as one.
const maxColumns = 64

// table writes a table as one, or its cells as blocks if it is only used for layout.
func (w *htmlWriter) table(n *html.Node) {
	rows := rowsOf(n)
	columns := 0
	for _, row := range rows {
		columns = max(columns, columnsOf(row))
	}
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
	for i, row := range rows {
		if w.check(b.Len()); w.err != nil {
			return
		}
		written := w.row(&b, row)
		if i == 0 {
			// The header has all columns. Other rows may be shorter.
			b.WriteString(strings.Repeat("| ", columns-written) + "|\n")
			b.WriteString(strings.Repeat("| --- ", columns))
		}
		b.WriteString("|\n")
	}
	w.lines(b.String())
}

// row writes the cells of a row, each on one line, and returns the number of columns.
func (w *htmlWriter) row(b *strings.Builder, row *html.Node) (columns int) {
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if !isCell(c) {
			continue
		}
		w.inline.inCell = true
		w.flat++
		if !isHidden(c) {
			w.children(c)
		}
		w.flat--
		w.inline.inCell = false
		b.WriteString("| ")
		if text := w.inline.take(); text != "" {
			b.WriteString(text)
			b.WriteByte(' ')
		}
		for range span(c) - 1 {
			b.WriteString("| ")
		}
		columns += span(c)
	}
	return columns
}

// rowsOf returns the rows of a table, without those of tables in it.
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

func columnsOf(row *html.Node) int {
	n := 0
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if isCell(c) {
			n += span(c)
		}
	}
	return n
}

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

// span returns the number of columns of a cell.
func span(cell *html.Node) int {
	n, err := strconv.Atoi(attribute(cell, "colspan"))
	if err != nil || n < 1 || n > maxColumns {
		return 1
	}
	return n
}
