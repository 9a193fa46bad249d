package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table prints an indented table. Its first row is the header, its first column contains names.
func (t *Terminal) Table(rows [][]string) {
	for line := range strings.Lines(t.Fit(rows, "l"+strings.Repeat("r", len(rows[0])-1))) {
		fmt.Fprint(t, " "+line)
	}
	t.Blank()
}

// Table formats a table whose first row is the header. The first left columns are aligned to
// the left, the others to the right.
func Table(rows [][]string, left int) string {
	return Aligned(rows, strings.Repeat("l", left)+strings.Repeat("r", len(rows[0])-left))
}

// Aligned formats a table whose first row is the header. columns has a letter for each column:
// l for texts, which are aligned to the left, r for figures.
func Aligned(rows [][]string, columns string) string {
	align := slices.Repeat([]tw.Align{tw.AlignRight}, len(columns))
	for i, c := range columns {
		if c == 'l' {
			align[i] = tw.AlignLeft
		}
	}
	var b strings.Builder
	table := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}))
	table.Header(rows[0])
	for _, row := range rows[1:] {
		_ = table.Append(row)
	}
	_ = table.Render() // a drawing error must not affect the result
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
