package llm

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// Terms returns the set of the words and numbers of a text, lower-cased and stemmed, without stop
// words. A text of stop words alone, such as "No", keeps them. Fake answers compare texts by their
// terms.
func Terms(text string) map[string]bool {
	all, content := map[string]bool{}, map[string]bool{}
	for _, w := range words(text) {
		stem := english.Stem(w, true)
		all[stem] = true
		if !english.IsStopWord(w) {
			content[stem] = true
		}
	}
	if len(content) == 0 {
		return all
	}
	return content
}

// words returns the lower-cased runs of letters, digits and marks. A possessive 's is a word
// of its own, and a stop word.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), separates)
}

// separates reports whether a character is between words.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
