package rows

import (
	"bufio"
	"io"
	"strings"
)

// Table writes the rows of a CSV file. The first error ends it.
type Table struct {
	out *bufio.Writer
	end string
}

// NewTable returns a table whose rows have this end. It is written to w once it is flushed.
func NewTable(w io.Writer, end string) *Table { return &Table{bufio.NewWriter(w), end} }

// quoted are the characters for which a cell is in quotes: those of RFC 4180, and those that
// separate cells where a comma is part of numbers, so that what follows them is not a cell of its
// own.
const quoted = ",;\t\"\r\n"

// Row writes a row. Line ends within cells stay as they are.
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		if i > 0 {
			_ = t.out.WriteByte(',') // Flush reports it
		}
		if strings.ContainsAny(c, quoted) || strings.HasPrefix(c, " ") || len(cells) == 1 && c == "" {
			c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		}
		_, _ = t.out.WriteString(c)
	}
	_, _ = t.out.WriteString(t.end)
}

// Flush returns the first error.
func (t *Table) Flush() error { return t.out.Flush() }
