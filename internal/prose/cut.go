package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/internal/printable"
)

// Cut returns where to divide a text so that its first part has at most most bytes: after a
// paragraph, a line, a sentence or a word that ends in the second half of that part, else between
// two characters. The first part has the white space at the cut. A text that fits is not divided.
func Cut(text string, most int) int {
	head := printable.Prefix(text, most)
	if len(head) == len(text) {
		return len(text)
	}
	for _, end := range []func(string) (end, next int){paragraphEnd, lineEnd, sentenceEnd, wordEnd} {
		if end, next := end(head); end > len(head)/2 {
			return next
		}
	}
	return len(head)
}

// These functions return where the last unit in a text ends, and where the next one begins.

func paragraphEnd(text string) (end, next int) {
	end = strings.LastIndex(text, "\n\n")
	return end, end + len("\n\n")
}

func lineEnd(text string) (end, next int) {
	end = strings.LastIndexByte(text, '\n')
	return end, end + len("\n")
}

func sentenceEnd(text string) (end, next int) {
	var last Span
	for s := range Spans(text) {
		end, next, last = last.End, s.Start, s
	}
	return end, next
}

func wordEnd(text string) (end, next int) {
	end = strings.LastIndexFunc(text, unicode.IsSpace)
	_, size := utf8.DecodeRuneInString(text[max(end, 0):])
	return end, end + size
}
