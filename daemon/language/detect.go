package language

import (
	"iter"
	"strings"
	"sync"
	"unicode"
)

// detected is the part of a text that Detect reads, in bytes.
const detected = 4096

// A text is in another language than the usual one of its script if two different function words of
// that language are in it, and its function words count at least enough, and clearly times as much as
// those of the usual language. A word that several languages have counts for each its share. Names and
// titles of another language are not enough.
const (
	enough  = 1
	clearly = 2
)

// DetectAmong returns the one of some languages that a text, such as a question, shows by a function
// word more than the others, and None if it shows none.
func DetectAmong(text string, among []Language) Language {
	e := readEvidence(text)
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

// Detect returns the language of a text: by its script, and by its function words where languages
// share a script. A text in the Latin alphabet that shows no other language is English. A text in a
// script without spaces, or in one that is not known, is None. Only the beginning of a long text is
// read.
func Detect(text string) Language {
	e := readEvidence(text)
	if int(e.script) >= len(usual) || usual[e.script] == None {
		return None
	}
	most := usual[e.script]
	least := clearly * e.weight[most]
	for l, n := range e.weight {
		if n >= enough && n > least && e.words[l] > 1 && (most == usual[e.script] || n > e.weight[most]) {
			most = Language(l)
		}
	}
	return most
}

// evidence is what a text shows of its language.
type evidence struct {
	script script // of most letters, the Latin one without any
	// words are the different function words of each language of the script, those of one byte left
	// out, and weight is what the occurrences of all of them add up to.
	words  [Count]int
	weight [Count]float64
}

func readEvidence(text string) evidence {
	if len(text) > detected {
		text = strings.ToValidUTF8(text[:detected], "")
	}
	e := evidence{script: mainScript(text)}
	if e.script.unspaced() {
		return e
	}
	shown, seen := languagesOf()[e.script], map[string]bool{}
	for start, end := range Words(text) {
		for part := range functionParts(text[start:end]) {
			languages := shown[part]
			for _, l := range languages {
				e.weight[l] += 1 / float64(len(languages))
			}
			if len(part) > 1 && len(languages) > 0 && !seen[part] {
				seen[part] = true
				for _, l := range languages {
					e.words[l]++
				}
			}
		}
	}
	if l := e.excluded(text); l != None {
		e.weight[l] = 0
	}
	return e
}

// excluded returns the usual language of a script if a text has letters that are not its own.
func (e *evidence) excluded(text string) Language {
	if e.script == arabicScript && strings.ContainsAny(text, "پچژگ") ||
		e.script == cyrillicScript && strings.ContainsAny(text, "іїєґ") {
		return usual[e.script]
	}
	return None
}

// languagesOf returns the languages of each script that have a function word with all its accents, by
// the script and the word in lower case. Without them, it may be any word of another language.
var languagesOf = sync.OnceValue(func() (of [southeast + 1]map[string][]Language) {
	for l, words := range stopWords() {
		s := languages[l].script
		if of[s] == nil {
			of[s] = map[string][]Language{}
		}
		for word, written := range words {
			if written {
				of[s][word] = append(of[s][word], Language(l))
			}
		}
	}
	return of
})

// functionParts yields the words that an apostrophe joins, in lower case. An English short form is
// the word before it and an English function word.
func functionParts(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		word = strings.ReplaceAll(strings.ToLower(word), "’", "'")
		if !strings.Contains(word, "'") {
			yield(word)
			return
		}
		if short := contraction(word); short == "" || strings.HasPrefix(word, short+"'") {
			_ = yield("would") && yield(short)
			return
		}
		for part := range strings.SplitSeq(word, "'") {
			if !yield(part) {
				return
			}
		}
	}
}

// mainScript returns the script of most letters of a text, the Latin one without any.
func mainScript(text string) script {
	var letters [southeast + 1]int
	for _, r := range text {
		if r >= 'A' && unicode.IsLetter(r) {
			letters[scriptOf(r)]++
		}
	}
	most := latinScript
	for s, n := range letters {
		if n > letters[most] {
			most = script(s)
		}
	}
	return most
}
