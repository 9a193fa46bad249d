package language

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
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

// Term returns the index term of a word of Words in a text that is written in l: the stem of the word
// in lower case, without accents where they are optional. It returns "" for a function word. A word
// in another script than that of l is reduced as in the usual language of that script: an English
// name in a Russian text has the term that it has in an English one.
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
	if stem := languages[l].stem; stem != nil && !hasDigit(word) {
		word = stem(word)
	}
	return fold(word)
}

// wordScript returns the script of the first letter of a word, the Latin one for a number.
func wordScript(word string) script {
	for _, r := range word {
		if unicode.IsLetter(r) {
			return scriptOf(r)
		}
	}
	return latinScript
}

func hasDigit(word string) bool { return strings.IndexFunc(word, unicode.IsDigit) >= 0 }

// lower returns a word in lower case and in composed form, as stemmers and lists of words expect it.
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

// bare removes what an apostrophe joins to a word in lower case: an article before it ("l'eau",
// "dell'arte"), an ending after it ("İstanbul'da", "Anna's"). Any other apostrophe belongs to the
// spelling, and only the apostrophe is removed.
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

// fold converts a word to lower case, removes the accents of alphabets in which they are often left
// out, and replaces ligatures and wide letters by plain ones.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= 0x80 {
			return foldUnicode(word)
		}
	}
	return strings.ToLower(word)
}

func foldUnicode(word string) string {
	var b strings.Builder
	base := latinScript
	for _, r := range norm.NFKD.String(strings.ReplaceAll(word, "’", "'")) {
		if !unicode.Is(unicode.Mn, r) {
			base = scriptOf(r)
		} else if optional(base, r) {
			continue
		}
		if r == 'ı' { // which Unicode does not take for an i without its dot
			r = 'i'
		}
		b.WriteRune(r)
	}
	return cases.Fold().String(norm.NFC.String(b.String()))
}

// optional reports whether a mark on a letter of a script is an accent that people leave out. The
// marks of other scripts are vowels or parts of letters.
func optional(base script, mark rune) bool {
	switch base {
	case latinScript, greekScript, hebrewScript, arabicScript:
		return true
	case cyrillicScript:
		return mark != '\u0306' // that of й
	}
	return false
}
