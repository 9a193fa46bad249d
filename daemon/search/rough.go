package search

import "evalctl/daemon/search/document"

// rough adds up approximate scores, to find the chunks whose scores are worth computing. Between
// searches, all scores are zero.
type rough struct {
	scores  []float32 // by chunk number
	touched []uint32  // numbers whose score is not zero
	// rows has the share of its gain that a term adds to the score of a chunk with this norm, by
	// the number of the tally and the extent of the text. It is 0 where not yet computed.
	rows [maxTallies]*[roughExtents]float32
	norm lengthNorm
}

const (
	roughExtents = 512
	// manyPostings is the number of postings from which approximate scores save time.
	manyPostings = 4096
	// maxRoughTerms bounds the number of terms, because each is looked up a second time.
	maxRoughTerms = 24
	// roughLevels is the number of levels into which approximate scores are sorted. Their error is
	// less than a level: each of at most maxQueryTerms summands has the error of a few roundings.
	roughLevels = len(levels{}.counts)
)

// likely returns the chunks that may be among the k best in the documents that keep accepts, at
// least k if there are so many. It saves time only with many postings.
func (r *rough) likely(ix *Index, l *levels, query []weighedTerm, keep func(*document.Document) bool, k int) []uint32 {
	highest := r.score(ix, query)
	found := r.choose(ix, l, float32(roughLevels-1)/highest, keep, k)
	for _, n := range r.touched {
		r.scores[n] = 0
	}
	r.touched = r.touched[:0]
	return found
}

// score adds up the scores of all chunks with one of the terms, and returns an upper bound of them.
func (r *rough) score(ix *Index, query []weighedTerm) (highest float32) {
	if missing := len(ix.chunks) - len(r.scores); missing > 0 {
		r.scores = append(r.scores, make([]float32, missing)...)
	}
	if norm := ix.lengthNorm(); norm != r.norm {
		r.norm = norm
		clear(r.rows[:])
	}
	for _, q := range query {
		gain := float32(q.weight * q.gain)
		highest += gain
		r.add(ix, q.term, gain)
	}
	return highest * 1.001
}

// add adds the scores of one term.
func (r *rough) add(ix *Index, term uint32, gain float32) {
	p := &ix.postings[term]
	scores, touched, extents, tallies := r.scores, r.touched, ix.extents, p.tallies[:len(p.chunks)]
	for i, n := range p.chunks {
		var share float32
		if row, extent := r.rows[tallies[i]], extents[n]; row != nil && extent < roughExtents {
			share = row[extent]
		}
		if share == 0 {
			share = r.share(ix, term, n, tallies[i])
		}
		was := scores[n]
		if was == 0 {
			touched = append(touched, n)
		}
		scores[n] = was + gain*share
	}
	r.touched = touched
}

// share returns the part of a chunk's score due to a term, and remembers it if possible.
func (r *rough) share(ix *Index, term, chunk uint32, number uint8) float32 {
	e := ix.extents[chunk]
	share := float32(ix.saturated(weightedCount(ix.tally(term, chunk, number), r.norm.of(e))))
	if number != uncounted && e < roughExtents {
		if r.rows[number] == nil {
			r.rows[number] = &[roughExtents]float32{}
		}
		r.rows[number][e] = share
	}
	return share
}

// choose returns the chunks for likely. The scale converts scores to levels.
func (r *rough) choose(ix *Index, l *levels, scale float32, keep func(*document.Document) bool, k int) []uint32 {
	counts := &l.counts
	clear(counts[:])
	for _, n := range r.touched {
		counts[int(r.scores[n]*scale)]++
	}
	for wanted := k; ; wanted *= 4 {
		lowest, above := roughLevels-1, int(counts[roughLevels-1])
		for above < wanted && lowest > 0 {
			lowest--
			above += int(counts[lowest])
		}
		found, certain := make([]uint32, 0, above+int(counts[max(0, lowest-1)])), 0
		for _, n := range r.touched {
			level := int(r.scores[n] * scale)
			if level < lowest-1 {
				continue
			}
			if !ix.accepts(keep, n) {
				continue
			}
			if found = append(found, n); level >= lowest {
				certain++
			}
		}
		if certain >= k || lowest == 0 {
			return found
		}
	}
}
