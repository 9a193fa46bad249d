package distill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/prose"
)

// cut divides a text after at most most bytes: at the last end of a sentence in the second half,
// else at a space there, else between two characters. White space at the cut is dropped.
func cut(text string, most int) (first, rest string) {
	if len(text) <= most {
		return text, ""
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	head := text[:end]
	best := -1
	for i := len(head) - 1; i > len(head)/2; i-- {
		if !isSpace(text[i]) {
			continue
		}
		if text[i] == '\n' || strings.IndexByte(".!?", text[i-1]) >= 0 {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
	}
	if best > 0 {
		end = best
	}
	return strings.TrimRightFunc(text[:end], unicode.IsSpace), strings.TrimLeftFunc(text[end:], unicode.IsSpace)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

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
