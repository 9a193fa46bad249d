package llm

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// overlap is the share of the reference's distinct terms that the candidate
// has, rounded to two decimals. An abstention matches only an abstention.
func overlap(reference, candidate string) (score float64, reason string) {
	switch refAbstains, candAbstains := abstains(reference), abstains(candidate); {
	case refAbstains && candAbstains:
		return 1, "both abstain"
	case refAbstains:
		return 0, "the reference abstains, the candidate answers"
	case candAbstains:
		return 0, "the candidate abstains, the reference answers"
	}
	want := terms(reference)
	if len(want) == 0 {
		return 0, "the reference has no words"
	}
	have := terms(candidate)
	found := 0
	for t := range want {
		if have[t] {
			found++
		}
	}
	share := float64(found) / float64(len(want))
	return math.Round(share*100) / 100, fmt.Sprintf("%d of %d reference words found", found, len(want))
}

// abstains looks at the first sentence only: an answer may well go on to quote
// somebody who does not know.
func abstains(s string) bool {
	s = strings.ToLower(strings.ReplaceAll(s, "’", "'"))
	if i := strings.IndexAny(s, ".!?\n"); i >= 0 {
		s = s[:i]
	}
	for _, phrase := range abstentions {
		if strings.Contains(s, phrase) {
			return true
		}
	}
	return false
}

var abstentions = []string{
	"i don't know", "i do not know", "do not say", "does not say", "don't say", "doesn't say",
	"not mentioned", "not recorded", "not stated", "not specified", "no information",
	"cannot be determined", "can't be determined", "cannot answer", "can't answer", "unanswerable",
}

// terms is the set of stemmed words and numbers, stop words left out; a text of
// stop words alone, such as "No", keeps them.
func terms(s string) map[string]bool {
	all, content := map[string]bool{}, map[string]bool{}
	for _, w := range words(s) {
		stem := english.Stem(w, true)
		all[stem] = true
		if !english.IsStopWord(w) {
			content[stem] = true
		}
	}
	if len(content) == 0 {
		return all
	}
	return content
}

// words are the lower-cased runs of letters and digits. A possessive 's is a
// word of its own, and a stop word.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
