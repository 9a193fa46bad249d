package prose_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/prose"
)

func TestSentences(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"wrapped":        {"The boat is\nred. It leaks!\n\nNobody knows why", []string{"The boat is red.", "It leaks!", "Nobody knows why"}},
		"marks":          {"# The boat\nIt is red.\n- one. Two.\n* three\n1. four\n> five", []string{"The boat", "It is red.", "one.", "Two.", "three", "four", "five"}},
		"front matter":   {"---\ntitle: Boat\n---\nIt is red.", []string{"It is red."}},
		"rule":           {"It is red.\n\n---\n\nIt leaks.", []string{"It is red.", "It leaks."}},
		"code":           {"See:\n```\na = 1\nb = 2\n```\nDone.", []string{"See:", "a = 1", "b = 2", "Done."}},
		"table":          {"| a | b |\n| c | d |", []string{"| a | b |", "| c | d |"}},
		"abbreviations":  {"Dr. Ekberg met J. Wick at 4.30 p.m. in Rye, e.g. Monday. Then he left.", []string{"Dr. Ekberg met J. Wick at 4.30 p.m. in Rye, e.g. Monday.", "Then he left."}},
		"quotation":      {`She said “Go.” He went (slowly.) They slept.`, []string{"She said “Go.”", "He went (slowly.)", "They slept."}},
		"ellipsis":       {"Wait… Really?! Yes.", []string{"Wait…", "Really?!", "Yes."}},
		"Chinese":        {"小李养了一只猫。它很胖！真的？", []string{"小李养了一只猫。", "它很胖！", "真的？"}},
		"windows":        {"---\r\ntitle: x\r\n---\r\nFirst.\r\nThen.", []string{"First.", "Then."}},
		"empty":          {" \n\n---\n", nil},
		"number at end":  {"It opened in 1998. It closed.", []string{"It opened in 1998.", "It closed."}},
		"decimal number": {"It costs 3.50 euros. No more.", []string{"It costs 3.50 euros.", "No more."}},
	} {
		if diff := cmp.Diff(c.want, slices.Collect(prose.Sentences(c.text))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzSplit: the sentences have everything of the text but spaces, in order.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"One. Two.", "a.b", "“Go.” He", "。！", "..", "\xff. A", "Dr. X! y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		bare := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, s)
		}
		var all []string
		for s := range prose.Split(text) {
			if s != strings.TrimSpace(s) || s == "" {
				t.Errorf("%q: %q", text, s)
			}
			all = append(all, s)
		}
		if got := bare(strings.Join(all, "")); got != bare(text) {
			t.Errorf("%q becomes %q", text, all)
		}
	})
}
