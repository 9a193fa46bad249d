package nightly

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/printable"
)

// The number of characters that are shown of a name and of a text.
const (
	nameLength = 100
	textLength = 300
)

// code returns a name as a code span, in which nothing is interpreted. It is not for tables.
func code(name string) string { return span(name, nameLength) }

// span returns the first most characters of a text as a code span.
func span(text string, most int) string {
	text = printable.Line(text, most)
	if text == "" {
		return "(empty)"
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
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

// cell returns a name for a cell of a table. A vertical bar would end the cell even in a code span.
func cell(name string) string {
	if !strings.Contains(name, "|") {
		return code(name)
	}
	var b strings.Builder
	for _, r := range printable.Line(name, nameLength) {
		if strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// table is a table, whose cells are Markdown.
type table struct {
	rows  [][]string // the first is the header
	align string     // a letter for each column: l for texts, r for figures
}

func newTable(align string, header ...string) *table {
	return &table{rows: [][]string{header}, align: align}
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table and an empty line, or nothing if it has only a header.
func (t *table) write(w io.Writer) {
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

// none is shown where there is no figure.
const none = "–"

// rate formats a share, or a mean between 0 and 1.
func rate(f *float64) string {
	if f == nil {
		return none
	}
	return fmt.Sprintf("%.3f", *f)
}

func interval(i *result.Interval) string {
	if i == nil {
		return none
	}
	return fmt.Sprintf("%.3f–%.3f", i.Low, i.High)
}

// share formats a part of a whole as a rate.
func share(part, whole int) string {
	if whole == 0 {
		return none
	}
	return rate(new(float64(part) / float64(whole)))
}

// milliseconds formats a latency.
func milliseconds(f *float64) string {
	switch {
	case f == nil:
		return none
	case *f < 10:
		return fmt.Sprintf("%.1f ms", *f)
	case *f < 10_000:
		return fmt.Sprintf("%.0f ms", *f)
	}
	return fmt.Sprintf("%.1f s", *f/1000)
}

// exact formats an amount of dollars with all its decimals. Dollar signs are left out everywhere:
// GitHub takes what is between two of them for a formula.
func exact(u llm.USD) string { return strings.Replace(u.String(), "$", "", 1) }

// dollars formats an amount of dollars with four significant digits, or to the cent.
func dollars(f float64) string {
	if f >= 1 || f == 0 {
		return fmt.Sprintf("%.2f", f)
	}
	return strconv.FormatFloat(f, 'f', decimals(f), 64)
}

// decimals returns how many decimals show four significant digits of f, at most 9.
func decimals(f float64) int {
	n := 4
	for ; f > 0 && f < 0.1 && n < 9; n++ {
		f *= 10
	}
	return n
}

// grouped formats a number with a comma before every three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count returns n and the name of a thing, with an s unless n is 1.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
