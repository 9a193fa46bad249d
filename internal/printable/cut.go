package printable

import (
	"strings"
	"unicode/utf8"
)

// Prefix returns text if it has at most most bytes, else its beginning, which does not end inside a
// character.
func Prefix[T ~string | ~[]byte](text T, most int) T {
	most = max(most, 0)
	if len(text) <= most {
		return text
	}
	for end := most; end > max(0, most-utf8.UTFMax); end-- {
		if utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	return text[:max(0, most-utf8.UTFMax)]
}

// First returns the first n characters of text.
func First(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Short returns text if it has at most n characters, else its beginning with an ellipsis, which is
// the last of n characters. n must be at least 1.
func Short(text string, n int) string {
	if First(text, n) == text {
		return text
	}
	return strings.TrimRight(First(text, n-1), " ") + "…"
}
