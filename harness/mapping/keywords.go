package mapping

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// mostKeywords limits the keywords per question.
const mostKeywords = 12

// functionWords are English words that say little about the subject of a text.
var functionWords = wordSet(`a about after again all also an and any are as at be because been before being both but by
	can could did do does doing down during each few for from further had has have having he her here hers him his how i
	if in into is it its just kind many may me might mine more most much must my no nor not of off on once one only or
	other our out over own please same shall she should so some such than that the their them then there these they this
	those through to too under until up us very was we were what when where which while who whom whose why will with
	would you your yours`)

func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(text) {
		words[w] = true
	}
	return words
}

// Keywords returns the distinct words of a question to search for one by one, in lower case and in
// order. English function words are left out unless there are no others. If there are more than 12,
// the longest are kept.
func Keywords(question string) []string {
	all := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	var words, others []string
	for _, w := range all {
		switch {
		case slices.Contains(words, w) || slices.Contains(others, w):
		case functionWords[w] || len(w) == 1: // one letter is what an apostrophe leaves
			others = append(others, w)
		default:
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		words = others
	}
	if len(words) > mostKeywords {
		longest := slices.Clone(words)
		slices.SortStableFunc(longest, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
		longest = longest[:mostKeywords]
		words = slices.DeleteFunc(words, func(w string) bool { return !slices.Contains(longest, w) })
	}
	return words
}

// merge orders the results of searches for several keywords: first by the number of keywords that
// found an item, then by the rarity of the keyword, then by position.
func merge(byWord [][]foundItem) []foundItem {
	type seen struct {
		foundItem
		words  int
		rarity float64
	}
	var all []*seen
	index := map[foundItem]*seen{}
	for _, items := range byWord {
		for i, f := range items {
			if slices.Contains(items[:i], f) {
				continue
			}
			key := f
			key.score = 0 // which may depend on the keyword
			s := index[key]
			if s == nil {
				s = &seen{foundItem: key}
				index[key] = s
				all = append(all, s)
			}
			s.words++
			s.rarity += 1 / float64(len(items))
		}
	}
	slices.SortStableFunc(all, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(b.rarity, a.rarity))
	})
	out := make([]foundItem, len(all))
	for i, s := range all {
		out[i] = s.foundItem
	}
	return out
}
