package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word, in bytes. A longer run of letters is cut into several words, so that
// encoded data does not fill the vocabulary with huge terms.
const maxWord = 64

// stopWords shape a sentence or question but say nothing about its subject.
var stopWords = wordSet(`a about am an and any are as at be been being but by can could did do does for
	from had has have having he her him his how i if in into is it its many me might much must my no not of
	on or our out shall she should so some than that the their them then there these they this to up us was
	we were what when where which who whom why will with would you your`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// IndexTerms returns the index terms of text in order, duplicates included. Words are runs of
// letters, digits and marks. They are folded to lower case without accents, and English words are
// reduced to the stem of their base form; stop words are left out. Numbers stay as they are. In
// scripts that are written without spaces, each character is a word.
func IndexTerms(text string) []string {
	var terms []string
	for start, end := nextWord(text, 0); end > start; start, end = nextWord(text, end) {
		if t := term(text[start:end]); t != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

// nextWord returns the first word at or after offset i; start equals end if there is none. An
// apostrophe between two letters is part of the word.
func nextWord(text string, i int) (start, end int) {
	for i < len(text) {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		if isUnspaced(r) {
			return i, i + size
		}
		if isWord(r) {
			return i, wordStop(text, i)
		}
		i += size
	}
	return len(text), len(text)
}

// wordStop returns the end of the word that begins at start.
func wordStop(text string, start int) int {
	end := start
	for i := start; i < len(text) && i-start < maxWord; {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case isWord(r) && !isUnspaced(r):
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

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func isUnspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func isApostrophe(r rune) bool {
	return r == '\'' || r == '’'
}

// term returns the index term of a word, "" for a stop word.
func term(word string) string {
	word = contraction(fold(word))
	if base, ok := irregular[word]; ok {
		word = base
	}
	if word == "" || stopWords[word] {
		return ""
	}
	return stem(word)
}

// minBare is the minimum length of a stem whose final i is dropped as an ending: "injuri" of injury
// has to match "injur" of injured, but "parti" of party must not match "part".
const minBare = 6

// stem reduces an English word to its stem. A word with a digit or a letter that is not English is
// returned as it is: codes and names have no English endings.
func stem(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	s := english.Stem(word, true)
	if len(s) >= minBare {
		s = strings.TrimSuffix(s, "i")
	}
	return s
}

// fold converts a word to lower case, removes its accents, and replaces ligatures and wide letters
// by plain ones.
func fold(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return foldUnicode(word)
		}
	}
	return strings.ToLower(word)
}

func foldUnicode(word string) string {
	// A transformer has state, so goroutines cannot share one.
	t := transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), cases.Fold())
	folded, _, err := transform.String(t, strings.ReplaceAll(word, "’", "'"))
	if err != nil {
		return strings.ToLower(word)
	}
	return folded
}

// contraction removes the short form from a folded word: "anna's" becomes anna, "we'll" becomes we.
// It returns "" for a word that ends in n't, which is a function word. In any other word, the
// apostrophe belongs to the spelling ("o'brien") and only the apostrophe is removed.
func contraction(word string) string {
	i := strings.LastIndexByte(word, '\'')
	if i < 0 {
		return word
	}
	switch word[i+1:] {
	case "t":
		if strings.HasSuffix(word[:i], "n") {
			return ""
		}
	case "s", "m", "d", "ll", "re", "ve":
		word = word[:i]
	}
	return strings.ReplaceAll(word, "'", "")
}
