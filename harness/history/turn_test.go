package history

import (
	"fmt"
	"testing"
)

// TestTurnsWithRepeats has nights in which some repeats of a question passed.
func TestTurnsWithRepeats(t *testing.T) {
	for _, c := range []struct{ states, want string }{
		{"+++~", "flaky 3 1 3"},
		{"~~~~~~~~~", "flaky 0 9 0"}, // steady, and flaky all the same
		{"~~~++", "flaky 0 5 0"},
		{"~~~+++++++", ""}, // settled, and not fixed: it passed sometimes before
		{"+++~-------", ""},
		{"++~+----", "flaky 2 6 2"},
		{"++~+++-------", "broke 6 7 3"},
	} {
		q := Turn{States: c.states}
		for i := range c.states {
			q.Dates = append(q.Dates, fmt.Sprint(i))
		}
		q.judge()
		got := ""
		if q.Kind != "" {
			got = fmt.Sprintf("%s %s %d %d", q.Kind, q.Since, q.Nights, q.Before)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.states, got, c.want)
		}
	}
}
