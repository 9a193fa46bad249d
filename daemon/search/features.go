package search

import (
	"cmp"
	"slices"
)

// rescored is how many of the chunks that score best are looked at again for
// further evidence: what a search takes is then bounded, whatever the size of the
// index. More than this finds little.
const rescoreDepth = 300

// weights say how much each kind of evidence counts beside the score of BM25F.
// docs/retrieval.md tells what each of them is worth.
type weights struct {
	phrase     float64 // see addPhrases
	neighbours float64 // see addNeighbours
	feedback   float64 // see addFeedback
	date       float64 // see addDates
}

var defaultWeights = weights{phrase: 0.2, neighbours: 0.2, feedback: 0.2, date: 0.4}

// evidence is what the score of a chunk is the sum of.
type features struct {
	bm25, phrase, neighbours, feedback, date float64
}

func (e *features) score() float64 {
	return e.bm25 + e.phrase + e.neighbours + e.feedback + e.date
}

// components are the parts by their Component constants, bm25 always and the
// others where there are any.
func (e *features) components() map[string]float64 {
	parts := map[string]float64{componentBM25: e.bm25}
	for name, score := range map[string]float64{
		componentPhrase:     e.phrase,
		componentNeighbours: e.neighbours,
		componentFeedback:   e.feedback,
		componentDate:       e.date,
	} {
		if score > 0 {
			parts[name] = score
		}
	}
	return parts
}

// found is a chunk with what its score is made of.
type scored struct {
	candidate
	features
}

// lexical gives the k best chunks for the words of a query, best first, of the
// documents that keep accepts; nil accepts all. The terms are those of the query,
// each once. The second result says what the scores of the first are made of.
// Called with mu held.
//
// All evidence adds to a score, so chunks that are not looked at again never
// belong before others.
func (ix *Index) lexical(q Query, terms []string, keep func(*Document) bool, k int) ([]candidate, []features) {
	best := ix.best(terms, keep, max(k, rescoreDepth))
	all := make([]scored, len(best))
	for i, c := range best {
		all[i] = scored{c, features{bm25: c.score}}
	}
	ix.rescore(q, terms, all[:min(rescoreDepth, len(all))])

	top, parts := make([]candidate, min(k, len(all))), make([]features, min(k, len(all)))
	for i := range top {
		top[i], parts[i] = all[i].candidate, all[i].features
	}
	return top, parts
}

// rescore adds further evidence to the best chunks, and puts them in their new
// order.
func (ix *Index) rescore(q Query, terms []string, best []scored) {
	query := ix.known(terms)
	more := ix.feedback(query, best)
	ordered := byChunk(best)
	ix.addFeedback(more, ordered)
	ix.addNeighbours(query, ordered)
	ix.addPhrases(indexTerms(q.Text), ordered)
	ix.addDates(mentionedPeriods(q.Text, q.AsOf), ordered)
	for i := range ordered {
		ordered[i].candidate.score = ordered[i].features.score()
	}
	slices.SortFunc(ordered, func(a, b scored) int { return ix.compare(a.candidate, b.candidate) })
	copy(best, ordered)
}

// byChunk gives the same in the order of the chunk numbers. Sorting numbers is
// several times faster than sorting what they stand for.
func byChunk(best []scored) []scored {
	keys := make([]uint64, len(best))
	for i, f := range best {
		keys[i] = uint64(f.chunk)<<32 | uint64(i)
	}
	slices.Sort(keys)
	ordered := make([]scored, len(best))
	for i, key := range keys {
		ordered[i] = best[uint32(key)]
	}
	return ordered
}

// known are the numbers of those terms that live chunks have, in order.
func (ix *Index) known(terms []string) []uint32 {
	numbers := make([]uint32, 0, len(terms))
	for _, t := range terms {
		if n, ok := ix.numbers[t]; ok && ix.postings[n].live > 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// saturated is how much of its gain a term adds that occurs tf times.
func (ix *Index) saturated(tf float64) float64 {
	return tf / (tf + ix.k1)
}

// frequencies gives tf of score for a term in each of some chunks, whose numbers
// must ascend: 0 where the term does not occur.
func (ix *Index) frequencies(term uint32, chunks []uint32, tf []float64) []float64 {
	norm := ix.lengthNorm()
	list := ix.postings[term].list
	tf = tf[:0]
	for _, n := range chunks {
		list = list[gallop(list, n):]
		if len(list) == 0 || list[0].chunk != n {
			tf = append(tf, 0)
			continue
		}
		tf = append(tf, weightedCount(list[0].counts, norm(ix.textLengths[n])))
	}
	return tf
}

// gallop gives the position of the first posting of chunk n or a later one. It
// looks near the beginning first, since it is called for one chunk after the other.
func gallop(list []posting, n uint32) int {
	end := 1
	for end < len(list) && list[end-1].chunk < n {
		end *= 2
	}
	start, end := end/2, min(end, len(list))
	i, _ := slices.BinarySearchFunc(list[start:end], n, func(p posting, n uint32) int { return cmp.Compare(p.chunk, n) })
	return start + i
}
