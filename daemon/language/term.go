package language

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Terms returns the index terms of a text that is written in l, in order, duplicates included.
func (l Language) Terms(text string) []string {
	var terms []string
	for start, end := range Words(text) {
		if t := l.Term(text[start:end]); t != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

// Term returns the index term of a word of Words in a text that is written in l: the stem of the
// word in lower case, without optional accents. It returns "" for a function word. A word in a
// script other than l's is reduced as in the usual language of its script: an English name in a
// Russian text has the same term as in an English one.
//
// The marks of separate letters of the language are kept, such as the Swedish å and Vietnamese
// tones. Bare returns a term as people write it who leave them out.
//
// Stems of two languages are different terms, even if they are spelled the same: the French cares
// and cars are not the English car. A term begins with the code of its language and a colon, as in
// "de:haus", unless the language is the usual one of its script or the word has a digit.
func (l Language) Term(word string) string {
	s := wordScript(word)
	switch {
	case s.unspaced():
		return fold(word)
	case languages[l].script != s:
		l = None
		if int(s) < len(usual) {
			l = usual[s]
		}
	}
	if l == English {
		return englishTerm(word)
	}
	word = l.bare(l.lower(word))
	if word == "" || l.isStop(word) {
		return ""
	}
	if hasDigit(word) {
		return fold(word)
	}
	if stem := languages[l].stem; stem != nil {
		word = stem(word)
	}
	word = foldIn(l, word)
	if l == None || l == usual[s] {
		return word
	}
	return languages[l].code + ":" + word
}

// englishTerm is Language.Term of an English word. Irregular forms become base forms.
func englishTerm(word string) string {
	word = contraction(fold(word))
	if base, ok := irregular[word]; ok {
		word = base
	}
	if word == "" || English.isStop(word) {
		return ""
	}
	return stemEnglish(word)
}

func hasDigit(word string) bool { return strings.IndexFunc(word, unicode.IsDigit) >= 0 }

// lower returns a word in lower case and in composed form, as stemmers and lists of words expect
// it.
func (l Language) lower(word string) string {
	word = norm.NFC.String(strings.ReplaceAll(word, "’", "'"))
	if l == turkishLanguage {
		return strings.ToLowerSpecial(unicode.TurkishCase, word)
	}
	return strings.ToLower(word)
}

// Languages with rules of their own.
var (
	turkishLanguage = Parse("tr")
	frenchLanguage  = Parse("fr")
	italianLanguage = Parse("it")
)

// bare removes the part of a word in lower case that an apostrophe joins to it: an article before
// it ("l'eau", "dell'arte"), an ending after it ("İstanbul'da", "Anna's"). Any other apostrophe
// belongs to the spelling, and only the apostrophe is removed.
func (l Language) bare(word string) string {
	i := strings.IndexByte(word, '\'')
	if i < 0 {
		return word
	}
	switch l {
	case frenchLanguage, italianLanguage:
		if before := word[:i]; len(before) == 1 || l.isStop(before) || strings.HasSuffix(before, "qu") ||
			l == italianLanguage && strings.HasSuffix(before, "ll") {
			return l.bare(word[i+1:])
		}
	case turkishLanguage:
		return word[:i]
	default:
		word = strings.TrimSuffix(word, "'s")
	}
	return strings.ReplaceAll(word, "'", "")
}
