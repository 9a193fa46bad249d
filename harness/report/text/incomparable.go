package text

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Incomparable prints in what results differ, and what can be done about it.
func Incomparable(t *terminal.Terminal, e *compare.IncomparableError) {
	rows := [][]string{{"differs in"}}
	for _, name := range e.Names {
		rows[0] = append(rows[0], terminal.Short(name, 32))
	}
	for _, k := range e.Keys {
		if !slices.Contains(e.Differing, k.Name) {
			continue
		}
		row := []string{k.Name}
		for _, v := range k.Values {
			row = append(row, keyValue(v))
		}
		rows = append(rows, row)
	}
	for line := range strings.Lines(terminal.Table(rows, len(rows[0]))) {
		fmt.Fprint(t, " "+line)
	}
	var accept []string
	intersect := false
	for _, name := range e.Differing {
		if slices.Contains(compare.Intersected(), name) {
			intersect = true
		} else {
			accept = append(accept, name)
		}
	}
	var flags []string
	if intersect {
		flags = append(flags, "--intersect")
	}
	if len(accept) > 0 {
		flags = append(flags, "--accept "+strings.Join(accept, ","))
	}
	fmt.Fprintf(t, "  If that is the comparison you want, add %s", strings.Join(flags, " "))
	if intersect {
		fmt.Fprintf(t, " (%s in common)", figure.Count(e.Common, "question"))
	}
	fmt.Fprint(t, ".\n\n")
}

// keyValue returns a value of a key for a cell.
func keyValue(v string) string { return terminal.Clip(terminal.Line(compare.ValueText(v)), 48) }
