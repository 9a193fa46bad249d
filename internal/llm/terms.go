package llm

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Terms returns the set of the words and numbers of a text, lower-cased and stemmed, without stop
// words. A text of stop words alone, such as "No", keeps them. Fake answers compare texts by their
// terms.
func Terms(text string) map[string]bool {
	all := words(text)
	content := slices.DeleteFunc(slices.Clone(all), isStopWord)
	if len(content) == 0 {
		content = all
	}
	terms := make(map[string]bool, len(content))
	known.Lock()
	defer known.Unlock()
	for _, w := range content {
		terms[known.of(w)] = true
	}
	return terms
}

// known has the stems of this process.
var known = struct {
	sync.Mutex
	stems
}{stems: stems{}}

// stems caches stems, because stemming costs more than everything else in Fake. The number of words
// and their length are bounded, because a daemon runs for weeks.
type stems map[string]string

func (s stems) of(word string) string {
	const most, longest = 1 << 15, 32
	stem, ok := s[word]
	if ok {
		return stem
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	stem = env.Current()
	if len(word) > longest {
		return stem
	}
	if len(s) >= most {
		clear(s)
	}
	s[strings.Clone(word)] = strings.Clone(stem) // not the text that they are a part of
	return stem
}

// stopWordList contains the function words of English, and what remains of its contractions.
//
//go:embed words/stop.txt
var stopWordList string

var stopWords = sync.OnceValue(func() map[string]bool { return wordSet(stopWordList) })

func isStopWord(word string) bool { return stopWords()[word] }

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

// words returns the lower-cased runs of letters, digits and marks. A possessive 's is a separate
// word, and a stop word.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), separates)
}

// separates reports whether a character is between words.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
