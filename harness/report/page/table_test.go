package page

import (
	"fmt"
	"html/template"
	"strings"
	"testing"

	"evalctl/harness/report/form"
)

// TestFits: the more room a table needs, the earlier it shows its rows as blocks. A figure is not
// broken within its brackets, and a long word of data does not count as a whole.
func TestFits(t *testing.T) {
	table := func(columns int, cell any) *form.Table {
		var names, cells []any
		for i := range columns {
			names, cells = append(names, fmt.Sprintf(">c%d", i)), append(cells, cell)
		}
		out := form.NewTable(form.F("t"), names...)
		out.Row(cells...)
		return out
	}
	bar := form.Cell{Bar: func() template.HTML { return "" }}
	for _, tt := range []struct {
		table *form.Table
		want  string
	}{
		{table(2, "0.5"), "w0"},
		{table(3, "0.500 [0.400 0.600]"), "w1"},
		{table(6, "0.500 [0.400 0.600]"), "w4"},
		{table(9, "0.500 [0.400 0.600]"), "w6"},
		{table(1, strings.Repeat("x", 100)), "w5"},
		{table(2, bar), "w0"},
		{table(4, bar), "w2"},
	} {
		if got := fits(tt.table); got != tt.want {
			t.Errorf("%d columns of %v: %s, want %s", len(tt.table.Columns), tt.table.Rows[0].Cells[0].Text, got, tt.want)
		}
	}
	data := form.NewTable(form.F("t"), "path")
	data.Row(form.Path(strings.Repeat("x", 100)))
	if got := fits(data); got != "w0" {
		t.Errorf("a long path needs %s: it may be broken", got)
	}
	for i := range len(breakpoints) + 1 {
		if !strings.Contains(Stacked(), fmt.Sprintf(".w%d > table", i)) {
			t.Errorf("no style of class w%d", i)
		}
	}
}
