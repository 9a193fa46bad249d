package rows

import (
	"bufio"
	"io"
	"strings"
)

// Table writes a CSV file. It stops at the first error.
type Table struct {
	out *bufio.Writer
	end string
}

// NewTable returns a table whose rows end with end. Flush writes it to w.
func NewTable(w io.Writer, end string) *Table { return &Table{bufio.NewWriter(w), end} }

// quoted are the characters that require quotes: the special characters of RFC 4180, and the
// separators used where the comma is a decimal separator.
const quoted = ",;\t\"\r\n"

// Row writes a row. Line ends within cells are kept.
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

// Flush writes buffered rows and returns the first error.
func (t *Table) Flush() error { return t.out.Flush() }
