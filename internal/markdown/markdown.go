// Package markdown writes Markdown as GitHub renders it. Text of datasets, daemons and models is
// data: a code span shows it unchanged, and it cannot become a link, a heading, a mention, a
// formula or HTML.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"evalctl/internal/printable"
)

// NameLength is the number of characters that Code and Cell show.
const NameLength = 100

// Code returns the first NameLength characters of a name as a code span. It is not for tables.
func Code(name string) string { return Span(name, NameLength) }

// Span returns the first most characters of a text as a code span on one line, or a remark if it
// has none. It is not for tables.
func Span(text string, most int) string {
	text = printable.Line(text, most)
	if text == "" {
		return "(empty)"
	}
	return fenced(text)
}

// fenced returns a text on one line as a code span.
func fenced(text string) string {
	fence := strings.Repeat("`", longestRun(text)+1)
	first, last := text[0], text[len(text)-1]
	if first == '`' || last == '`' || first == ' ' && last == ' ' {
		text = " " + text + " " // both spaces are removed
	}
	return fence + text + fence
}

// longestRun returns the length of the longest run of backquotes.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// Cell returns the first NameLength characters of a name as code spans for a cell of a table. A
// vertical bar, which would end the cell even in a code span, is between two of them.
func Cell(name string) string { return LongCell(name, NameLength) }

// LongCell is Cell for the first most characters of a text.
func LongCell(long string, most int) string {
	text := printable.Line(long, most)
	if !strings.Contains(text, "|") {
		return Span(long, most)
	}
	var b strings.Builder
	for i, part := range strings.Split(text, "|") {
		if i > 0 {
			b.WriteString(`\|`)
		}
		switch {
		case part == "":
		case strings.Trim(part, " ") == "":
			b.WriteByte(' ') // a code span of spaces is not seen
		default:
			b.WriteString(fenced(part))
		}
	}
	return b.String()
}

// Table is a table whose cells are Markdown.
type Table struct {
	rows  [][]string // the first is the header
	align string
}

// NewTable returns a table without rows. align has a letter for each column: l for texts, r for
// figures.
func NewTable(align string, header ...string) *Table {
	return &Table{rows: [][]string{header}, align: align}
}

// Row adds a row with a cell for each column.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table and an empty line, or nothing if it has no rows. Errors of w are not
// returned: a caller passes a buffer, or a bufio.Writer, which keeps them.
func (t *Table) Write(w io.Writer) {
	if len(t.rows) == 1 {
		return
	}
	for i, cells := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintln(w, "|"+strings.NewReplacer("l", "---|", "r", "---:|").Replace(t.align))
		}
	}
	fmt.Fprintln(w)
}
