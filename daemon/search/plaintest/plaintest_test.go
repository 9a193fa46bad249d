package plaintest

import (
	"slices"
	"strings"
	"testing"
)

// TestRank has three documents of 2, 2 and 4 words. With k1 = 1 and b = .5, a document of 2 words
// has norm 1 · (.5 + .5·2/(8/3)) = .875, the one of 4 words 1.25. "tea" is in two of three
// documents, so its weight is ln(1 + 1.5/2.5) = .470; "milk" is in one: ln(1 + 2.5/1.5) = .981.
func TestRank(t *testing.T) {
	bm25 := New([]Document{
		{"c", "green tea"},
		{"b", "cold milk"},
		{"a", "tea tea tea cup"},
	}, strings.Fields)
	all := func(string) bool { return true }
	tests := []struct {
		name, question, want string
		k                    int
		keep                 func(string) bool
	}{
		// a: .470 · 3/(3 + 1.25) = .332; c: .470 · 1/(1 + .875) = .251; b: .981/1.875 = .523.
		{"once each", "tea milk", "b a c", 10, all},
		// A word that the question repeats counts as often: a .663, b .523.
		{"twice", "tea tea milk", "a b c", 10, all},
		{"cut", "tea milk", "b", 1, all},
		{"kept", "tea milk", "a c", 10, func(path string) bool { return path != "b" }},
		{"no word", "cocoa", "", 10, all},
		{"ties by path", "cold green", "b c", 10, all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bm25.Rank(tt.question, 1, .5, tt.k, tt.keep); !slices.Equal(got, strings.Fields(tt.want)) {
				t.Errorf("%q ranks %v, want %s", tt.question, got, tt.want)
			}
		})
	}
}
