package printable_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"evalctl/internal/printable"
)

func TestPrefix(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""},
		{"aé", 2, "a"}, {"aé", 3, "aé"}, {"🦜x", 3, ""}, {"🦜x", 4, "🦜"}, {"éé", 3, "é"},
		{strings.Repeat("\x80", 9), 7, strings.Repeat("\x80", 3)},
	} {
		if got := printable.Prefix(c.text, c.most); got != c.want {
			t.Errorf("Prefix(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(0, 20).Draw(t, "most")
		got := printable.Prefix([]byte(text), most)
		if !strings.HasPrefix(text, string(got)) || !utf8.Valid(got) || len(got) > most || len(got) < min(len(text), most-utf8.UTFMax+1) {
			t.Fatalf("%q", got)
		}
	})
}

func TestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(-1, 20).Draw(t, "n")
		runes := []rune(text)
		if got, want := printable.First(text, n), string(runes[:max(0, min(n, len(runes)))]); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 1, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"éèêë", 3, "éè…"}, {"abc", 1, "…"}, {"ab cd", 4, "ab…"}, {"ab ", 3, "ab "},
	} {
		if got := printable.Short(c.text, c.n); got != c.want {
			t.Errorf("Short(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
