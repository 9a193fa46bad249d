package search

import (
	"cmp"
	"slices"

	"evalctl/daemon/language"
)

// maxQueryTerms bounds the terms of a query that are looked up, and so the time that a pasted
// conversation takes. A question has far fewer.
const maxQueryTerms = 128

// queryTerm is a term of a query. Its weight is (k3+1)·n/(k3+n) for n occurrences, which is 1 for
// one (Robertson and Zaragoza, 2009, see score.go).
type queryTerm struct {
	name   string
	weight float64
	// words is how many words of the query each occurrence stands for, at most 1: less for one of
	// several terms of a word, see countTerms, and for a pair of letters.
	words float64
	// word has the terms of its word in all languages, of those that are known.
	word []string
}

// queryTerms returns the terms of a query with their weights, see countTerms.
func (ix *Index) queryTerms(text string) []queryTerm {
	terms := countTerms(text, ix.spoken(), ix.wordTerm, ix.has, ix.variants)
	for i, t := range terms {
		terms[i].weight = (ix.k3 + 1) * t.weight / (ix.k3 + t.weight)
		if language.Share(t.name) == 0 {
			terms[i].weight *= ix.letter
		}
	}
	return terms
}

// spoken returns the languages of the documents. Called with mu held.
func (ix *Index) spoken() []language.Language {
	var languages []language.Language
	for l, n := range ix.languages {
		if n > 0 {
			languages = append(languages, language.Language(l))
		}
	}
	return languages
}

// asked returns the language of a query, or None if it is not recognised or all documents are in
// one language.
func (ix *Index) asked(text string) language.Language {
	if among := ix.spoken(); len(among) > 1 {
		return language.DetectAmong(text, among)
	}
	return language.None
}

// Terms returns the index terms of a query, without duplicates. Of more than 128, a search looks up
// 128, see Explanation.
func Terms(text string) []string {
	return termNames(countTerms(text, []language.Language{language.Detect(text)}, language.Language.Term, func(string) bool { return true }, nil))
}

// countTerms returns the terms of a text in any of some languages, without duplicates, in the order
// of their first occurrence, weighted by the number of their occurrences. A function word of the
// language of the text has no term in another language. reduce reduces each word. The parts of a
// known word are left out, because they say nothing more. Variants are terms that differ by marks
// that the text leaves out and, for an unknown word, the parts of names. They do not count as words
// of the text.
func countTerms(text string, languages []language.Language, reduce reducer, known func(term string) bool, variants map[string][]string) []queryTerm {
	own := language.None
	if len(languages) > 1 {
		own = language.DetectAmong(text, languages)
	}
	terms := []queryTerm{}
	places := map[string]int{}
	whole := 0 // the end of the last word that is known
	for start, end := range language.Words(text) {
		word := text[start:end]
		if end <= whole && language.Share(word) == 1 {
			continue
		}
		if own != language.None && reduce(own, word) == "" {
			continue
		}
		of := distinctTerms(word, languages, reduce)
		if found := slices.DeleteFunc(slices.Clone(of), func(t string) bool { return !known(t) }); len(found) > 0 {
			of, whole = found, end
		}
		for _, t := range of {
			at, again := places[t]
			if !again {
				at = len(terms)
				terms, places[t] = append(terms, queryTerm{name: t, words: language.Share(word) / float64(len(of)), word: of}), at
			}
			terms[at].weight++
			for _, v := range variants[t] {
				if isPart(v) && known(t) {
					continue
				}
				if !slices.ContainsFunc(terms, func(t queryTerm) bool { return t.name == v }) {
					terms = append(terms, queryTerm{name: v, weight: variantWeight, word: []string{t, v}})
				}
			}
		}
	}
	return terms
}

// has reports whether a term is in a live chunk.
func (ix *Index) has(term string) bool {
	n, ok := ix.numbers[term]
	return ok && ix.postings[n].live > 0
}

// variantWeight is the weight of a variant: the word as it is written comes first.
const variantWeight = 0.5

// reducer is language.Language.Term, or the same with a cache.
type reducer func(l language.Language, word string) string

// distinctTerms returns the different terms that a word has in some languages.
func distinctTerms(word string, languages []language.Language, reduce reducer) (terms []string) {
	for _, l := range languages {
		if t := reduce(l, word); t != "" && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	return terms
}

// heaviest returns the maxQueryTerms terms that can add most to a score, in their order, and the
// others. A term can add its weight times its gain: nothing if no chunk contains it, and little if
// most chunks do. Terms in most chunks also take the most time. Called with mu held.
func (ix *Index) heaviest(terms []queryTerm) (kept, leftOut []queryTerm) {
	if len(terms) <= maxQueryTerms {
		return terms, nil
	}
	gains, order := make([]float64, len(terms)), make([]int, len(terms))
	for i, t := range terms {
		order[i] = i
		if ix.has(t.name) {
			gains[i] = t.weight * ix.gainOf(t)
		}
	}
	slices.SortFunc(order, func(a, b int) int { // a total order: the earlier of two equal terms
		return cmp.Or(cmp.Compare(gains[b], gains[a]), cmp.Compare(a, b))
	})
	slices.Sort(order[:maxQueryTerms])
	slices.Sort(order[maxQueryTerms:])
	for i, at := range order {
		if i < maxQueryTerms {
			kept = append(kept, terms[at])
		} else {
			leftOut = append(leftOut, terms[at])
		}
	}
	return kept, leftOut
}

func termNames(terms []queryTerm) []string {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.name
	}
	return names
}

// weighedTerm is a term that a chunk should contain, with its weight.
type weighedTerm struct {
	term   uint32
	weight float64
	gain   float64 // the limit of what it can add to a score, with weight 1
	words  float64 // of a term of the query, see queryTerm
}

// known returns the terms that occur in live chunks, in order.
func (ix *Index) known(terms []queryTerm) []weighedTerm {
	found := make([]weighedTerm, 0, len(terms))
	for _, t := range terms {
		if n, ok := ix.numbers[t.name]; ok && ix.postings[n].live > 0 {
			found = append(found, weighedTerm{n, t.weight, ix.gainOf(t), t.words})
		}
	}
	return found
}

// gainOf returns the gain of a known term, from the frequency of its word in all languages. A word
// is not rare because one of the languages is (Pirkola, "The Effects of Query Structure and
// Dictionary Setups in Dictionary-Based Cross-Language Information Retrieval", 1998).
func (ix *Index) gainOf(t queryTerm) float64 {
	if len(t.word) < 2 {
		return ix.gain(ix.numbers[t.name])
	}
	df := 0
	for _, name := range t.word {
		if ix.has(name) {
			df += ix.postings[ix.numbers[name]].live
		}
	}
	return idf(ix.live, min(df, ix.live)) * (ix.k1 + 1)
}
