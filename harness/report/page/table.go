package page

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"evalctl/harness/report/form"
)

// A table fits if each column has room for its longest unbreakable part. A table that does not fit
// shows each row as a block, with the column name at each cell.
const (
	letterPixels = 9.6 // the approximate width of a letter or a digit
	gapPixels    = 22  // between two columns
	barPixels    = 128
	longestWord  = 24 // a longer one, such as a path, may be broken
)

// breakpoints are the widths in pixels below which tables of a class show rows as blocks. The last
// class always does.
var breakpoints = []int{360, 480, 620, 780, 960, 1180}

// classFor returns the class of a table that needs so many pixels.
func classFor(pixels float64) string {
	for i, width := range breakpoints {
		if pixels <= float64(width) {
			return fmt.Sprintf("w%d", i)
		}
	}
	return fmt.Sprintf("w%d", len(breakpoints))
}

// Stacked returns the style of tables that do not fit, for a table in a box of the class t and one
// of w0 to w6. Cells have the name of their column in the attribute data-l.
func Stacked() string {
	var b strings.Builder
	for i := range len(breakpoints) + 1 {
		rules := strings.ReplaceAll(stacked, "TABLE", fmt.Sprintf(".w%d > table", i))
		if i < len(breakpoints) {
			rules = fmt.Sprintf("@container (max-width: %dpx) {\n%s}\n", breakpoints[i]-1, rules)
		}
		b.WriteString(rules)
	}
	return b.String()
}

const stacked = `TABLE, TABLE > caption, TABLE > tbody { display: block; min-width: 0 }
TABLE > thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
TABLE > tbody > tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 10.2rem), 1fr)); gap: .1rem .75rem; padding: .5rem 0; border-bottom: 1px solid var(--line) }
TABLE > tbody > tr > * { display: block; border: 0; padding: 0; text-align: left; white-space: normal; max-width: none; min-width: 0; overflow-wrap: anywhere }
TABLE > tbody > tr > * bdi { white-space: normal }
TABLE > tbody > tr > th { grid-column: 1 / -1; font-weight: 600 }
TABLE > tbody > tr > td:empty { display: none }
TABLE > tbody > tr > [data-l]:not(th)::before { content: attr(data-l) / ""; display: block; color: var(--mute); font-size: .8rem; font-weight: 400; line-height: 1.2 }
`

// fits returns the class of a table for its width.
func fits(t *form.Table) string {
	total := 0.0
	shown := rows(t)
	for i, c := range t.Columns {
		longest, pixels := longestPart(c.Name.With(inHTML), false), 0.0
		for _, r := range shown {
			if r.Cells[i].Bar != nil {
				pixels = barPixels
				continue
			}
			text := r.Cells[i].Text.With(inHTML)
			mark := 0
			if r.Cells[i].Mark != "" {
				mark = 2
			}
			longest = max(longest, mark+longestPart(text, c.Number))
		}
		total += max(pixels, letterPixels*float64(longest)) + gapPixels
	}
	return classFor(total)
}

// longestPart returns the length of the longest unbreakable part of a text: a word, or in a column
// of figures a figure with its unit or its brackets.
func longestPart(text string, figures bool) (longest int) {
	parts := strings.Fields(text)
	if figures {
		parts = figureParts(text)
	}
	for _, p := range parts {
		n := utf8.RuneCountInString(p)
		if !figures {
			n = min(n, longestWord)
		}
		longest = max(longest, n)
	}
	return longest
}

// figureParts splits a figure where a line may be broken: before a bracket, and after an arrow.
func figureParts(text string) []string {
	return strings.Split(figureBreaks.Replace(text), "\n")
}

var figureBreaks = strings.NewReplacer(" [", "\n[", " (", "\n(", " → ", " →\n", " / ", " /\n")
