package search

import (
	"cmp"
	"slices"
)

// rescoreDepth is the number of best chunks whose further features are computed, so that the cost
// of a search is bounded, whatever the size of the index. Larger depths find little more.
const rescoreDepth = 300

// weights are the weights of the further features, where the score of BM25F has weight 1.
// docs/dev/ranking.md reports what each of them adds.
type weights struct {
	neighbours float64 // see addNeighbours
	feedback   float64 // of the best word that the query lacks, see feedback
	emphasis   float64 // of the best word that it has, see feedback
	date       float64 // see addDates
}

var defaultWeights = weights{neighbours: 0.2, feedback: 0.2, emphasis: 3, date: 0.4}

// features are the summands of a chunk's score.
type features struct {
	bm25, neighbours, feedback, date float64
}

func (e *features) score() float64 {
	return e.bm25 + e.neighbours + e.feedback + e.date
}

// components returns the features by their component constants: bm25 always, the others if they are
// above 0.
func (e *features) components() map[string]float64 {
	parts := map[string]float64{componentBM25: e.bm25}
	for name, score := range map[string]float64{
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

// scored is a chunk with the features of its score.
type scored struct {
	candidate
	features
}

// lexical returns the k best chunks of a source for the words of a query, best first. The terms are
// the index terms of the query, without duplicates.
// The second result holds the features of the chunks in the first. Called with mu held.
//
// Further features only raise a score, so the chunks beyond rescoreDepth never belong above the
// others.
func (ix *Index) lexical(q Query, terms []queryTerm, from source, k int) (
	[]candidate, []features,
) {
	best := ix.bestOf(from, terms, max(k, rescoreDepth))
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

// rescore adds the further features of the best chunks, and sorts the chunks by their new scores.
func (ix *Index) rescore(q Query, terms []queryTerm, best []scored) {
	query := ix.known(terms)
	more := ix.feedback(query, best)
	ordered := byChunk(best)
	ix.addFeedback(more, ordered)
	ix.addNeighbours(query, ordered)
	ix.addDates(mentionedPeriods(q.Text, q.AsOf), ordered)
	for i := range ordered {
		ordered[i].candidate.score = ordered[i].features.score()
	}
	slices.SortFunc(ordered, func(a, b scored) int { return ix.compare(a.candidate, b.candidate) })
	copy(best, ordered)
}

// byChunk returns the chunks in the order of their numbers. Sorting numbers is several times faster
// than sorting structs.
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

// known returns the terms that occur in live chunks, in order.
func (ix *Index) known(terms []queryTerm) []weighedTerm {
	found := make([]weighedTerm, 0, len(terms))
	for _, t := range terms {
		if n, ok := ix.numbers[t.name]; ok && ix.postings[n].live > 0 {
			found = append(found, weighedTerm{n, t.weight, t.words})
		}
	}
	return found
}

// saturated returns the share of its gain that a term adds if it occurs tf times.
func (ix *Index) saturated(tf float64) float64 {
	return tf / (tf + ix.k1)
}

// frequencies returns tf, as defined at score, of a term in each of the chunks, whose numbers must
// ascend: 0 where the term does not occur. It reuses the memory of tf.
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

// gallop returns the position of the first posting of chunk n or a later one. It begins near the
// front, because it is called for one chunk after the other.
func gallop(list []posting, n uint32) int {
	end := 1
	for end < len(list) && list[end-1].chunk < n {
		end *= 2
	}
	start, end := end/2, min(end, len(list))
	i, _ := slices.BinarySearchFunc(list[start:end], n, func(p posting, n uint32) int {
		return cmp.Compare(p.chunk, n)
	})
	return start + i
}
