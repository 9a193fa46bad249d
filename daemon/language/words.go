package language

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// maxWord bounds a word, in bytes. A longer run of letters is cut into several words, so that
// encoded data does not fill the vocabulary with huge terms.
const maxWord = 64

// Words yields the words of text in order, each as its start and its end in bytes. A word is a run
// of letters, digits and marks, with an apostrophe between two letters, or a symbol. Invisible
// characters do not separate words.
//
// Words that are parts of another one follow it: parts of code names that capitals show, such as
// parse, JSON and Reply in parseJSONReply. In a script without spaces, and in Korean, each letter
// and each two neighbouring letters of a run are a word; a letter with its marks is one letter.
func Words(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(text); {
			if text[i] < utf8.RuneSelf && asciiFold[text[i]] == 0 {
				i++
				continue
			}
			r, size := decode(text, i)
			switch {
			case isSymbol(r):
				if !yield(i, i+size) {
					return
				}
				i += size
			case !isWord(r):
				i += size
			case r >= firstUnspaced && scriptOf(r).unspaced():
				var more bool
				if i, more = pairs(text, i, yield); !more {
					return
				}
			default:
				end := wordStop(text, i)
				if !yield(i, end) || !parts(text, i, end, yield) {
					return
				}
				i = end
			}
		}
	}
}

// firstUnspaced is below every letter of a script without spaces.
const firstUnspaced = 0x0E00

func decode(text string, i int) (rune, int) {
	if text[i] < utf8.RuneSelf {
		return rune(text[i]), 1
	}
	return utf8.DecodeRuneInString(text[i:])
}

// pairs yields the letters and the pairs of letters of the run of one script that begins at i. It
// returns the end of the run, and whether the caller wants more words.
func pairs(text string, i int, yield func(start, end int) bool) (int, bool) {
	r, _ := decode(text, i)
	kind := scriptOf(r)
	first, second := i, letterEnd(text, i)
	for {
		if !yield(first, second) {
			return second, false
		}
		if second == len(text) {
			return second, true
		}
		if r, _ := decode(text, second); !isWord(r) || scriptOf(r) != kind {
			return second, true
		}
		end := letterEnd(text, second)
		if !yield(first, end) {
			return end, false
		}
		first, second = second, end
	}
}

// parts yields the parts of a word in which a capital follows a small letter, or ends a run of
// capitals that small letters follow. It reports whether the caller wants more words.
func parts(text string, start, end int, yield func(start, end int) bool) bool {
	begin := start
	var before, last rune // the letters before the one at i
	for i := start; i < end; {
		r, size := decode(text, i)
		switch {
		case unicode.IsLower(last) && unicode.IsUpper(r):
			if !yield(begin, i) {
				return false
			}
			begin = i
		case unicode.IsUpper(before) && unicode.IsUpper(last) && unicode.IsLower(r):
			at := i - utf8.RuneLen(last)
			if at > begin {
				if !yield(begin, at) {
					return false
				}
				begin = at
			}
		}
		before, last = last, r
		i += size
	}
	return begin == start || yield(begin, end)
}

// NamesCode reports whether a text has a name as only code has them: at least two small letters
// followed by a capital. In other texts, names such as LinkedIn are one word.
func NamesCode(text string) bool {
	small, inside := 0, false // small letters at the beginning of the word
	for _, r := range text {
		switch {
		case !isWord(r):
			small, inside = 0, false
			continue
		case unicode.IsLower(r) && (!inside || small > 0):
			small++
		case unicode.IsUpper(r) && small >= 2:
			return true
		default:
			small = 0
		}
		inside = true
	}
	return false
}

// letterEnd returns the end of the letter at i and the marks that belong to it. A decomposed
// syllable of Korean is one letter.
func letterEnd(text string, i int) int {
	last, size := decode(text, i)
	for i += size; i < len(text); i += size {
		var r rune
		if r, size = decode(text, i); !unicode.IsMark(r) && !joinsSyllable(last, r) && !isHidden(r) {
			break
		}
		last = r
	}
	return i
}

// joinsSyllable reports whether two letters of Korean are parts of one syllable: an initial
// consonant and a vowel, or a vowel and a final consonant.
func joinsSyllable(a, b rune) bool {
	const initial, vowel, final, end = 0x1100, 0x1160, 0x11A8, 0x1200
	return initial <= a && a < vowel && vowel <= b && b < final ||
		vowel <= a && a < end && final <= b && b < end
}

// wordStop returns the end of the word that begins at start.
func wordStop(text string, start int) int {
	end := start
	for i := start; i < len(text) && i-start < maxWord; {
		if text[i] < utf8.RuneSelf && asciiFold[text[i]] != 0 {
			i++
			end = i
			continue
		}
		r, size := decode(text, i)
		switch {
		case isWord(r) && (r < firstUnspaced || !scriptOf(r).unspaced()):
			end = i + size
		case isApostrophe(r) && end == i, joins(r):
			// It is part of the word only if a letter follows.
		default:
			return end
		}
		i += size
	}
	return end
}

// joins reports whether an invisible character may be between two letters of one word. A non-joiner
// separates words: letters around it look different in scripts that join letters, and Persian uses
// it as a space.
func joins(r rune) bool {
	const nonJoiner = '\u200c'
	return r >= utf8.RuneSelf && r != nonJoiner && isHidden(r)
}

// isSymbol reports whether a character is a word by itself, such as an emoji, a currency sign or an
// arrow.
func isSymbol(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.So, unicode.Sc, unicode.Sm)
}

// asciiFold has the lower case of the ASCII characters that belong to words, and 0 for the others.
var asciiFold = func() (table [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case 'A' <= c && c <= 'Z':
			table[c] = c - 'A' + 'a'
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			table[c] = c
		}
	}
	return table
}()

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiFold[r] != 0
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// Unspaced reports whether l is written without spaces between words.
func (l Language) Unspaced() bool { return languages[l].script.unspaced() }

// Spells reports whether a word of Words is in a script without spaces that l is written in.
func (l Language) Spells(word string) bool {
	s := wordScript(word)
	return s.unspaced() && languages[l].script == s
}

// Share returns how much of a content word a word of Words counts for: 1 unless it is a pair of
// letters. For n content words, a translation has about 3n pairs in East Asian scripts, and 6n in
// southeast Asian scripts, where letters represent sounds. A letter is part of a pair and counts
// nothing.
func Share(word string) float64 {
	s := wordScript(word)
	switch {
	case !s.unspaced():
		return 1
	case letterEnd(word, 0) == len(word):
		return 0
	case s == southeast:
		return 1. / 6
	}
	return 1. / 3
}
