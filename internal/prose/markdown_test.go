package prose_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/prose"
)

func TestSentences(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"wrapped":      {"The boat is\nred. It leaks!\n\nNobody knows why", []string{"The boat is red.", "It leaks!", "Nobody knows why"}},
		"marks":        {"# The boat\nIt is red.\n- one. Two.\n* three\n1. four\n> five", []string{"The boat", "It is red.", "one.", "Two.", "three", "four", "five"}},
		"front matter": {"---\ntitle: Boat\n---\nIt is red.", []string{"It is red."}},
		"rule":         {"It is red.\n\n---\n\nIt leaks.", []string{"It is red.", "It leaks."}},
		"code":         {"See:\n```\na = 1\nb = 2\n```\nDone.", []string{"See:", "a = 1", "b = 2", "Done."}},
		"table":        {"| a | b |\n| c | d |", []string{"| a | b |", "| c | d |"}},
		"windows":      {"---\r\ntitle: x\r\n---\r\nFirst.\r\nThen.", []string{"First.", "Then."}},
		"empty":        {" \n\n---\n", nil},

		"closed by dots":          {"---\ntitle: Boat\n...\nIt is red.", []string{"It is red."}},
		"space after the lines":   {"--- \ntitle: Boat\n--- \nIt is red.", []string{"It is red."}},
		"closed at the end":       {"---\ntitle: Boat\n---", nil},
		"byte order mark":         {"\ufeff---\ntitle: Boat\n---\nIt is red.", []string{"It is red."}},
		"text between rules":      {"---\nIt is red.\n\n---\nIt is big.", []string{"It is red.", "It is big."}},
		"list between rules":      {"---\n- It is red.\n---\nIt is big.", []string{"It is red.", "It is big."}},
		"empty front matter":      {"---\n---\nIt is red.\n\n---\nIt is big.", []string{"It is red.", "It is big."}},
		"front matter of comment": {"---\n# draft\n---\nIt is red.", []string{"It is red."}},
		"no closing line":         {"---\nIt: is red.", []string{"It: is red."}},
	} {
		if diff := cmp.Diff(c.want, slices.Collect(prose.Sentences(c.text))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestUnmarked(t *testing.T) {
	for line, want := range map[string]string{
		"": "", "---": "", "##": "", "## Boat ##": "Boat ##", "#boat": "#boat", "> > - deep": "deep", ">near": "near",
		"12. d e": "d e", "3) f": "f", "1998. It closed": "1998. It closed", "- [ ] to do": "[ ] to do", "-5 degrees": "-5 degrees",
		"**bold** word": "**bold** word", "* one": "one", "2025 was wet": "2025 was wet", "1.": "1.",
	} {
		if got := prose.Unmarked("  " + line + "\r\n"); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
