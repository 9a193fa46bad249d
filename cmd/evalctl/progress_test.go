package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"evalctl/harness"
)

// TestDescription: bar, figures and what stands beside them fit on a line.
func TestDescription(t *testing.T) {
	p := &progress{
		t: &terminal{w: &bytes.Buffer{}}, total: 1000, spent: 1_234_567,
		counts: harness.Counts{Total: 900, Passed: 500, Scored: 700, Errors: 100, Unscored: 100},
		late:   []float64{12}, first: []float64{3},
	}
	got := p.description()
	if width := utf8.RuneCountInString(got) + barWidth + besideBar + len("10001000"); width != p.t.columns() {
		t.Errorf("%q makes a line of %d characters, want all %d", got, width, p.t.columns())
	}
	if !strings.HasPrefix(got, "  ask  500 pass") || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q, want the figures, cut", got)
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"éèêë", 3, "éè…"}, {"abc", 1, "…"},
	} {
		if got := clip(tt.text, tt.n); got != tt.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
