// Package language turns text into the terms of a search index: it finds the words of a text, tells
// in which language a text is written, and reduces a word to its stem. All functions may be called
// concurrently, and depend on nothing but their arguments.
package language

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Language is a language whose words have a form of their own in an index.
type Language uint8

// None is the language of a text whose language is not among those that Parse knows. Its words are
// folded and not stemmed.
const None Language = 0

// English is the language of a text in the Latin alphabet that shows no other.
const English Language = 1

// Parse returns the language of a BCP 47 tag, such as de or pt-BR, and None for any other text.
func Parse(tag string) Language {
	code, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")), "-")
	if code == "nb" || code == "nn" {
		code = "no"
	}
	if code == "" {
		return None
	}
	return Language(max(0, slices.IndexFunc(languages[:], func(s spec) bool { return s.code == code })))
}

// Codes returns the codes that Parse knows, in the order of their numbers.
func Codes() []string {
	codes := make([]string, 0, len(languages)-1)
	for _, s := range languages[1:] {
		codes = append(codes, s.code)
	}
	return codes
}

// Count is the number of languages, None included.
const Count = len(languages)

// String returns the code of ISO 639-1, "" for None.
func (l Language) String() string { return languages[l].code }

//go:embed stopwords.txt
var stopWordLists string

// stopWords returns the function words of each language, also without their accents. The value is set
// if a word is written that way in full.
var stopWords = sync.OnceValue(func() (sets [Count]map[string]bool) {
	for l, words := range functionWords() {
		sets[l] = map[string]bool{}
		for _, w := range words {
			if bare := fold(w); !sets[l][bare] {
				sets[l][bare] = false
			}
			sets[l][w] = true
		}
	}
	return sets
})

// functionWords parses the embedded lists.
func functionWords() (lists [Count][]string) {
	for line := range strings.Lines(stopWordLists) {
		if words := strings.Fields(line); words[0] != "#" {
			lists[Parse(words[0])] = words[1:]
		}
	}
	return lists
}

// isStop reports whether a word in lower case is a function word, which indexes leave out.
func (l Language) isStop(word string) bool {
	_, ok := stopWords()[l][word]
	return ok
}
