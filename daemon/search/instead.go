package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"evalctl/daemon/language"
	"evalctl/daemon/search/question"
)

const (
	// minNearest is the least number of letters of a word that may count as mistyped. Most shorter
	// words have neighbours that mean something else.
	minNearest = 4
	// maxNearest bounds the words that are searched for instead of one.
	maxNearest = 10
)

// lookFor returns what the words of a query search for: the passages to choose from and the terms.
// If no term of the query is in the index, nearest has the similar terms to search for instead. A
// query of only function words or signs is searched for as written. Called with mu held.
func (ix *Index) lookFor(q Query, from source) (of source, terms, leftOut []queryTerm, nearest map[string][]string) {
	terms, leftOut = ix.heaviest(ix.queryTerms(q.Text))
	switch {
	case len(q.Conditions.All) > 0:
	case len(terms) == 0:
		if written := language.AsWritten(q.Text); !written.Empty() {
			q.Conditions.All = [][]question.Alternative{{{Written: written}}}
			from = ix.meeting(q)
		}
	case len(ix.known(terms)) == 0:
		if similar, of := ix.nearest(terms); len(similar) > 0 {
			return from, similar, leftOut, of
		}
	}
	return from, terms, leftOut, nil
}

// nearest returns the terms of the index that are similar to unknown ones, see similar, and the
// similar terms of each. Words with digits and of scripts without spaces have none. A query most of
// whose terms have none is not mistyped, but about something else.
func (ix *Index) nearest(unknown []queryTerm) (terms []queryTerm, of map[string][]string) {
	of = map[string][]string{}
	for _, t := range unknown {
		typed := []rune(t.name)
		if len(typed) < minNearest || language.Share(t.name) < 1 || strings.ContainsFunc(t.name, unicode.IsDigit) {
			continue
		}
		var found []uint32
		for n, name := range ix.names {
			if ix.postings[n].live > 0 && !isPart(name) && similar(typed, name) {
				found = append(found, uint32(n))
			}
		}
		slices.SortFunc(found, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(ix.postings[b].live, ix.postings[a].live), cmp.Compare(ix.names[a], ix.names[b]))
		})
		for _, n := range found[:min(maxNearest, len(found))] {
			name := ix.names[n]
			of[t.name] = append(of[t.name], name)
			if !slices.ContainsFunc(terms, func(t queryTerm) bool { return t.name == name }) {
				terms = append(terms, queryTerm{name: name, weight: t.weight, words: t.words})
			}
		}
	}
	if 2*len(of) < len(unknown) {
		return nil, nil
	}
	return terms, of
}

// similar reports whether a term differs from a typed one in one missing, added or replaced letter
// or in two swapped neighbours. It is also true if one of them begins or ends with the other. Terms
// have lost their endings, and words are parts of others.
func similar(typed []rune, name string) bool {
	if len(name) < minNearest {
		return false
	}
	word := []rune(name)
	switch more := len(word) - len(typed); {
	case more > 1:
		return begins(word, typed)
	case more < -1:
		return len(word) >= minNearest && begins(typed, word)
	}
	a, b := typed, word
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 && len(b) <= 1 || swapped
}

// begins reports whether a word begins or ends with a shorter one.
func begins(word, with []rune) bool {
	return slices.Equal(word[:len(with)], with) || slices.Equal(word[len(word)-len(with):], with)
}

// addDated adds the chunks whose documents are dated in the periods of a question that names
// nothing else. They come before all chunks that its words find.
func (ix *Index) addDated(periods []question.Period, from source, found []scoredChunk) []scoredChunk {
	top := 1.
	if len(found) > 0 {
		// Equal scores would be ordered by path or date, and roundScore makes close ones equal.
		top = found[0].candidate.score * (1 + 1e-5)
	}
	known := map[uint32]int{}
	for i, f := range found {
		known[f.chunk] = i
	}
	for n := range uint32(len(ix.chunks)) {
		in := func(p question.Period) bool { return p.Contains(ix.chunks[n].doc.Date) }
		if !ix.accepts(from.keep, n) || ix.traits[n]&dated == 0 || !slices.ContainsFunc(periods, in) {
			continue
		}
		i, ok := known[n]
		if !ok {
			i = len(found)
			found = append(found, scoredChunk{candidate: candidate{chunk: n}})
		}
		found[i].date += top
		found[i].candidate.score = found[i].features.score()
	}
	slices.SortFunc(found, func(a, b scoredChunk) int { return ix.compare(a.candidate, b.candidate) })
	return found
}
