package question

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/language"
)

// questionMarks are the marks that only end a question. Two others are handled separately: the
// ASCII mark is also in URLs, and the Greek one is a semicolon.
var questionMarks = []string{"？", "؟", "՞", "፧", "⁇"}

var greek = language.Parse("el")

// Asks reports whether a sentence of a text in a language is a question, in any script.
func Asks(text string, in language.Language) bool {
	return endsWord(text, "?") || in == greek && endsWord(text, ";") || asksInScript(text)
}

func asksInScript(text string) bool {
	return slices.ContainsFunc(questionMarks, func(mark string) bool { return strings.Contains(text, mark) })
}

// endsWord reports whether a text has a mark that no letter or digit follows.
func endsWord(text, mark string) bool {
	for {
		_, after, found := strings.Cut(text, mark)
		if !found {
			return false
		}
		if next, _ := utf8.DecodeRuneInString(after); !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return true
		}
		text = after
	}
}
