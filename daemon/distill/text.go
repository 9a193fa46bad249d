package distill

import (
	"slices"
	"strings"
	"unicode"

	"evalctl/internal/prose"
)

// cut divides a text that is longer than most bytes where prose.Cut does. White space at the cut is
// dropped.
func cut(text string, most int) (first, rest string) {
	if len(text) <= most {
		return text, ""
	}
	at := prose.Cut(text, most)
	return strings.TrimRightFunc(text[:at], unicode.IsSpace), strings.TrimLeftFunc(text[at:], unicode.IsSpace)
}

// shorten returns the beginning of a text that is longer than most bytes, with a mark at its end.
func shorten(text string, most int) string {
	first, rest := cut(text, most)
	if rest == "" {
		return first
	}
	return first + cutMark
}

// sentences returns the sentences of a text, each as one line. Lines are boundaries; the marks of
// headings, list items and quotations are left out, and so are blocks of code.
func sentences(text string) []string {
	var list []string
	for line := range strings.Lines(prose.WithoutCode(text)) {
		list = slices.AppendSeq(list, prose.Split(prose.Unmarked(oneLine(line))))
	}
	return list
}
