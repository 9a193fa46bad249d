package prose_test

import (
	"slices"
	"strings"
	"testing"

	"evalctl/internal/prose"
)

func TestWithoutCode(t *testing.T) {
	for text, want := range map[string]string{
		"a\n```go\nb\n```\nc":                   "a\n\nc",
		"a\n~~~\n```\n~~~\nc\n":                 "a\n\nc\n",
		"a\n````\n```\nb\n```\n````\nc":         "a\n\nc",
		"- a\n      ```\n      b\n      ```\nc": "- a\n\nc",
		"a\n``` `b` ```\nc":                     "a\n``` `b` ```\nc",
		"a\n``` never closed\nb\n~~~":           "a\n``` never closed\nb\n~~~",
		"````\na\n```\nb\n```\nc":               "````\na\n\nc",
	} {
		if got := prose.WithoutCode(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	// In time that is linear, although nothing closes these.
	if many := strings.Repeat("```a\n~~~~ b\n", 300_000); prose.WithoutCode(many) != many {
		t.Error("fences that are not closed are left out")
	}
}

func TestSentencesBesideCode(t *testing.T) {
	const text = "One\nline.\n````\n```\ncode 1\n```\ncode 2\n````\nTwo\nlines."
	want := []string{"One line.", "```", "code 1", "```", "code 2", "Two lines."}
	if got := slices.Collect(prose.Sentences(text)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
