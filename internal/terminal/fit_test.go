package terminal

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestFit: a table is as wide as the terminal at most, no word of it is broken, and none is lost.
func TestFit(t *testing.T) {
	rows := [][]string{
		{"name", "passed", "pass rate", "difference", "only this / only other", "verdict", "file"},
		{"semantic", "20/60", "0.333 [0.227 0.459]", "", "", "", "r/semantic.json"},
		{"bm25", "18/60", "0.300 [0.199 0.425]", "-3.3pp [-11.5 +4.7]", "0 / 2", red + "no difference" + reset, "results/2026-11-29/bm25.json"},
	}
	var words []string
	for _, row := range rows {
		for _, cell := range row {
			words = append(words, strings.Fields(cell)...)
		}
	}
	slices.Sort(words)
	for _, width := range []int{40, 60, 80, 100, 120, 140, 200} {
		shown := &Terminal{w: &bytes.Buffer{}, columns: width}
		got := shown.Fit(rows, "lrrrrll")
		if whole := got == Aligned(rows, "lrrrrll"); whole != shown.Fits(rows) {
			t.Errorf("at %d columns the table is whole: %v, and fits: %v", width, whole, !whole)
		}
		for line := range strings.Lines(got) {
			if n := columnsOf(strings.TrimRight(line, "\n")); n > width-1 {
				t.Errorf("at %d columns a line has %d: %q", width, n, line)
			}
		}
		if width == 40 {
			continue // rows are blocks, which repeat the names of the columns
		}
		found := strings.Fields(got)
		slices.Sort(found)
		if blocks := len(found) > len(words); !blocks && !slices.Equal(found, words) {
			t.Errorf("at %d columns the words differ:\n%s", width, got)
		}
	}
	if got, want := (&Terminal{}).Fit(rows, "lrrrrll"), Aligned(rows, "lrrrrll"); got != want {
		t.Errorf("what is no terminal has\n%swant\n%s", got, want)
	}
	if got := (&Terminal{w: &bytes.Buffer{}, columns: 40}).Fit(rows, "lrrrrll"); !strings.Contains(got, "passed 20/60") {
		t.Errorf("a block does not name its columns:\n%s", got)
	}
}

func TestColumns(t *testing.T) {
	for value, want := range map[string]int{"": 80, "120": 120, "x": 80, "3": 80} {
		env := func(name string) string { return map[string]string{"COLUMNS": value}[name] }
		if got := New(&bytes.Buffer{}, env, false).Columns(); got != want {
			t.Errorf("COLUMNS=%q: %d columns, want %d", value, got, want)
		}
	}
}
