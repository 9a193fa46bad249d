package language

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed stopwords.txt
var stopWordLists string

// stopWords returns the function words of each language, also without their accents. The value is
// set if a word is written that way in full.
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
