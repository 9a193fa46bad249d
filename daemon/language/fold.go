package language

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold converts a word to lower case, removes the accents of alphabets in which they are often left
// out, and replaces ligatures and wide letters by plain ones.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= 0x80 {
			word = strings.ReplaceAll(word, "’", "'")
			return cases.Fold().String(norm.NFC.String(string(bareRunes(word, latinScript))))
		}
	}
	return strings.ToLower(word)
}

// foldLetter folds one letter as fold does, but leaves it decomposed.
func foldLetter(r rune) []rune {
	return slices.Clip([]rune(cases.Fold().String(string(bareRunes(string(r), scriptOf(r))))))
}

// bareRunes decomposes the letters of a text and leaves out optional accents. Those at its
// beginning are on a letter of script base.
func bareRunes(text string, base script) []rune {
	kept := make([]rune, 0, len(text))
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			base = scriptOf(r)
		} else if optional(base, r) {
			continue
		}
		if r == 'ı' { // which Unicode does not take for an i without its dot
			r = 'i'
		}
		kept = append(kept, r)
	}
	return kept
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
