package language

import (
	"strings"
	"unicode"
)

// detected is the part of a text that Detect reads, in bytes.
const detected = 4096

// A text is in another language than the usual one of its script if two different words show that
// language. These words must count at least enough, clearly times as much as the usual language's
// words, and proportion of all words. A word of several languages counts a share for each. Names
// and titles of another language are not enough.
const (
	enough     = 1
	clearly    = 2
	proportion = 0.1
)

// A text is not prose if it has many marks that are frequent in code and rare in prose: at least
// codeMarks, and codeShare of all characters other than white space. In prose of several genres and
// languages, 99 % of texts have fewer, and 98 % of functions in Go have more.
const (
	codeMarks = 5
	codeShare = 0.06
)

// DetectAmong returns the one of some languages that a text, such as a question, shows more than
// the others, or None if it shows none.
func DetectAmong(text string, among []Language) Language {
	e := readEvidence(text)
	if l := unspacedLanguage(e.script, text); l != None {
		return l
	}
	best, second := None, 0.
	for _, l := range among {
		if n := e.weight[l]; n > e.weight[best] {
			best, second = l, e.weight[best]
		} else {
			second = max(second, n)
		}
	}
	if e.weight[best] < clearly*second {
		return None
	}
	return best
}

// Detect returns the language of a text: by its script, and by frequent words and letters where
// languages share a script. A text in the Latin alphabet that shows no other language is English. A
// text that is not prose is Code, and one in an unknown script None. Only the beginning of a long
// text is read.
func Detect(text string) Language {
	text = beginning(text)
	if isCode(text) {
		return Code
	}
	e := readEvidence(text)
	if e.script.unspaced() {
		return unspacedLanguage(e.script, text)
	}
	if int(e.script) >= len(usual) || usual[e.script] == None {
		return None
	}
	most := usual[e.script]
	least := clearly * e.weight[most]
	for l, n := range e.weight {
		if n >= least && e.shows(Language(l)) && (most == usual[e.script] || n > e.weight[most]) {
			most = Language(l)
		}
	}
	return most
}

// unspacedLanguage returns the language of a text in a script without spaces. Most of these scripts
// belong to one language. A text with kana is Japanese.
func unspacedLanguage(s script, text string) Language {
	switch s {
	case han:
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }) {
			return Parse("ja")
		}
		return Parse("zh")
	case hangul:
		return Parse("ko")
	case southeast:
		return southeastLanguage(text)
	}
	return None
}

// southeastLanguage returns the language whose script most letters of a text are in.
func southeastLanguage(text string) Language {
	best, most := "", 0
	for _, l := range []struct {
		code  string
		table *unicode.RangeTable
	}{{"th", unicode.Thai}, {"lo", unicode.Lao}, {"km", unicode.Khmer}, {"my", unicode.Myanmar}} {
		letters := 0
		for _, r := range text {
			if unicode.Is(l.table, r) {
				letters++
			}
		}
		if letters > most {
			best, most = l.code, letters
		}
	}
	return Parse(best)
}

func beginning(text string) string {
	if len(text) > detected {
		return strings.ToValidUTF8(text[:detected], "")
	}
	return text
}

// isCode reports whether a text is not prose.
func isCode(text string) bool {
	marks, all := 0, 0
	for _, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		all++
		if r < unicode.MaxASCII && strings.ContainsRune(`{}[]()<>=_;\|&$@~^+`, r) {
			marks++
		}
	}
	return marks >= codeMarks && float64(marks) >= codeShare*float64(all)
}

// mainScripts returns the script of most letters of a text, or the Latin one for a text without
// letters. If that is the Latin one, other is the next frequent script, unless it has a single
// letter or less than a proportion of them: texts of every language have names and terms in Latin
// letters.
func mainScripts(text string) (most, other script) {
	var letters [southeast + 1]int
	all := 0
	for _, r := range text {
		if r >= 'A' && unicode.IsLetter(r) {
			letters[scriptOf(r)]++
			all++
		}
	}
	most = latinScript
	for s, n := range letters {
		if n > letters[most] {
			most = script(s)
		}
	}
	if most != latinScript {
		return most, otherScript
	}
	for s, n := range letters {
		if script(s) != latinScript && n > max(1, letters[other]) && float64(n) >= proportion*float64(all) {
			other = script(s)
		}
	}
	return most, other
}
