package terminal

import (
	"slices"
	"strings"
)

// gap is the number of blanks to the right of a column.
const gap = 2

// Fit returns a table, with the header as its first row, at most as wide as the terminal. columns
// has a letter for each column, l for texts and r for figures. Cells are broken between words; if
// words are too long, each row is shown as a block. Output that is not a terminal has lines of any
// length, unless $COLUMNS limits them.
func (t *Terminal) Fit(rows [][]string, columns string) string {
	room := t.Columns() - 1 // a blank comes before each line
	if !t.wraps() {
		return Aligned(rows, columns)
	}
	widths, least := make([]int, len(columns)), make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOf(cell))
			for _, part := range cellParts(cell) {
				least[i] = max(least[i], columnsOf(part))
			}
		}
	}
	switch {
	case total(widths) <= room:
		return Aligned(rows, columns)
	case total(least) > room:
		return t.blocks(rows)
	}
	widths = squeezed(widths, least, room)
	broken := [][]string{}
	for _, row := range rows {
		broken = append(broken, brokenRow(row, widths)...)
	}
	return Aligned(broken, columns)
}

// Fits reports whether a table fits into the terminal without breaking a cell.
func (t *Terminal) Fits(rows [][]string) bool {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOf(cell))
		}
	}
	return !t.wraps() || total(widths) <= t.Columns()-1
}

// total returns the width of a table.
func total(widths []int) int {
	sum := gap * len(widths)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// squeezed narrows the widest columns of a table that is too wide, down to the least widths.
func squeezed(widths, least []int, room int) []int {
	widths = slices.Clone(widths)
	for total(widths) > room {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		widths[widest]--
	}
	return widths
}

// brokenRow returns the lines of a row whose columns have these widths.
func brokenRow(row []string, widths []int) (lines [][]string) {
	for i, cell := range row {
		line, at := "", 0
		put := func() {
			if at == len(lines) {
				lines = append(lines, make([]string, len(row)))
			}
			lines[at][i] = line
			line, at = "", at+1
		}
		for _, part := range cellParts(cell) {
			switch {
			case line == "":
				line = part
			case columnsOf(line)+1+columnsOf(part) <= widths[i]:
				line += " " + part
			default:
				put()
				line = part
			}
		}
		put()
	}
	return lines
}

// cellParts returns the unbreakable parts of a cell: words, and text between brackets. A colored
// cell is one part, and so is one whose blanks matter.
func cellParts(cell string) (parts []string) {
	if strings.Contains(cell, "\x1b") || strings.Contains(cell, "  ") {
		return []string{cell}
	}
	open := false
	for word := range strings.SplitSeq(cell, " ") {
		if open {
			parts[len(parts)-1] += " " + word
		} else {
			parts = append(parts, word)
		}
		last := parts[len(parts)-1]
		open = strings.HasPrefix(last, "[") && !strings.Contains(last, "]") && len(last) < 24
	}
	return parts
}

// blocks returns the rows one below the other: the first cell, and below it the others with the
// names of their columns.
func (t *Terminal) blocks(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows[1:] {
		b.WriteString(t.Wrap(" ", strings.TrimSpace(row[0])) + "\n")
		var fields []string
		for i, cell := range row {
			if i > 0 && strings.TrimSpace(cell) != "" {
				fields = append(fields, strings.TrimSpace(rows[0][i]+" "+cell))
			}
		}
		b.WriteString(t.Wrap("    ", strings.Join(fields, "  ")) + "\n")
	}
	return b.String()
}
