// Package printable makes text of other programs fit for an error message, and cuts texts between
// characters.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text as one line of at most most characters, as Short does. White space becomes
// single spaces. Invalid UTF-8 and characters that are not printable, which a terminal could
// interpret, become U+FFFD.
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
	return Short(strings.Join(strings.Fields(text), " "), most)
}
