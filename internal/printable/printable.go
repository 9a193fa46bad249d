// Package printable makes text of other programs fit for an error message, and cuts texts between
// characters.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text as one line of at most most characters, and " …" if it was longer. White space
// becomes single spaces. Invalid UTF-8 and characters that are not printable, which a terminal
// could interpret, become U+FFFD.
func Line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if most == 0 {
			return strings.TrimRight(text[:i], " ") + " …"
		}
		most--
	}
	return text
}
