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
// of letters, digits and marks, with an apostrophe between two letters. In a run of letters of a
// script without spaces, and of Korean, each two neighbouring letters are a word, so that words
// overlap; a letter with its marks is one letter, and a letter alone is a word.
func Words(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(text); {
			if text[i] < utf8.RuneSelf && asciiFold[text[i]] == 0 {
				i++
				continue
			}
			r, size := decode(text, i)
			switch {
			case !isWord(r):
				i += size
			case r >= firstUnspaced && scriptOf(r).unspaced():
				var more bool
				if i, more = pairs(text, i, yield); !more {
					return
				}
			default:
				end := wordStop(text, i)
				if !yield(i, end) {
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

// pairs yields the pairs of letters of the run of one script that begins at i. It returns the end
// of the run, and whether the caller wants more words.
func pairs(text string, i int, yield func(start, end int) bool) (int, bool) {
	r, _ := decode(text, i)
	kind := scriptOf(r)
	first, second := i, letterEnd(text, i)
	for second < len(text) {
		r, _ := decode(text, second)
		if !isWord(r) || scriptOf(r) != kind {
			break
		}
		end := letterEnd(text, second)
		if !yield(first, end) {
			return end, false
		}
		first, second = second, end
	}
	if first == i {
		return second, yield(first, second)
	}
	return second, true
}

// letterEnd returns the end of the letter at i and the marks that belong to it. A decomposed
// syllable of Korean is one letter.
func letterEnd(text string, i int) int {
	last, size := decode(text, i)
	for i += size; i < len(text); i += size {
		var r rune
		if r, size = decode(text, i); !unicode.IsMark(r) && !joinsSyllable(last, r) {
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
		case isApostrophe(r) && end == i:
			// It is part of the word only if a letter follows.
		default:
			return end
		}
		i += size
	}
	return end
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

// Share returns how much of a content word one of the words of Words stands for: 1 unless it is a
// pair of letters. A text whose translation into other languages has n words that are no function
// words has 3n pairs or so in East Asia, and 6n in southeast Asia, where letters stand for sounds.
func Share(word string) float64 {
	switch wordScript(word) {
	case han, hangul:
		return 1. / 3
	case southeast:
		return 1. / 6
	}
	return 1
}
