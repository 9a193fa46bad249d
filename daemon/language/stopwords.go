package language

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed stopwords.txt
var stopWordLists string

// stopWords returns the function words of each language, also without their accents. The value is
// true for the full spelling.
var stopWords = sync.OnceValue(func() (sets [Count]map[string]bool) {
	for l, words := range wordLists(stopWordLists) {
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

// wordLists parses embedded lists: a line has the code of a language and its words. A language may
// have several lines.
func wordLists(text string) (lists [Count][]string) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[0] != "#" {
			l := Parse(words[0])
			lists[l] = append(lists[l], words[1:]...)
		}
	}
	return lists
}

// isStop reports whether a word in lower case is a function word, which indexes leave out.
func (l Language) isStop(word string) bool {
	_, ok := stopWords()[l][word]
	return ok
}
