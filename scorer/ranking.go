package scorer

import (
	"cmp"
	"math"
	"slices"
)

// Gold is a document that answers a question.
type Gold struct {
	Path string `json:"path"`
	// Gain is how much the document is worth, above 0: 1 for each where
	// documents only answer or do not, a grade where they are graded.
	Gain float64 `json:"gain"`
	// Rank is the document's place among the retrieved ones, from 1 on; 0 when
	// it was not retrieved.
	Rank int `json:"rank"`
}

// Ranking is all gold of one question, each document once and in any order,
// with its places in one list of documents. Its methods are the measures of trec_eval, unless they say
// otherwise. A cut-off k counts documents and is at least 1; math.MaxInt cuts
// nothing off. Without gold there is nothing to find and every measure is NaN:
// such a question must be left out of means.
type Ranking []Gold

// Rank finds gold in a list of documents, best first. A document that comes
// again further down is dropped there, and those below it move up. gold itself
// is not changed.
func Rank(documents []string, gold []Gold) Ranking {
	documents = distinct(documents)
	r := slices.Clone(gold)
	for i := range r {
		r[i].Rank = slices.Index(documents, r[i].Path) + 1
	}
	return r
}

// Hit is a retrieved passage: the document it is of and its score, 0 where none
// is known.
type Hit struct {
	Path  string
	Score float64
}

// Documents turns hits, best first, into a list of documents in which each one
// stands once, where its best hit was. Neighbours of the same score are ordered by
// path, ascending, so that ties are no matter of luck (trec_eval orders them
// by path too, but descending); hits without a score stay as they are. Hits
// without a path are documents of their own.
func Documents(hits []Hit) []string {
	hits = slices.Clone(hits)
	for start := 0; start < len(hits); {
		end := start + 1
		for end < len(hits) && hits[end].Score == hits[start].Score {
			end++
		}
		if hits[start].Score != 0 {
			slices.SortStableFunc(hits[start:end], func(a, b Hit) int { return cmp.Compare(a.Path, b.Path) })
		}
		start = end
	}
	paths := make([]string, len(hits))
	for i, h := range hits {
		paths[i] = h.Path
	}
	return distinct(paths)
}

// distinct drops what came before, but not the documents without a path.
func distinct(documents []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, d := range documents {
		if !seen[d] {
			out = append(out, d)
			seen[d] = d != ""
		}
	}
	return out
}

// hits counts the gold among the first k.
func (r Ranking) hits(k int) int {
	n := 0
	for _, g := range r {
		if g.Rank > 0 && g.Rank <= k {
			n++
		}
	}
	return n
}

// ofGold is a figure that is only known where there is gold.
func (r Ranking) ofGold(figure float64) float64 {
	if len(r) == 0 {
		return math.NaN()
	}
	return figure
}

// RecallAt is the share of the gold that is among the first k.
func (r Ranking) RecallAt(k int) float64 {
	return r.ofGold(float64(r.hits(k)) / float64(len(r)))
}

// AnyAt is 1 when any gold is among the first k, else 0.
func (r Ranking) AnyAt(k int) float64 {
	return r.ofGold(float64(min(r.hits(k), 1)))
}

// SuccessAt is AnyAt by the name that trec_eval gives it.
func (r Ranking) SuccessAt(k int) float64 { return r.AnyAt(k) }

// AllAt is 1 when all gold is among the first k, else 0. It cannot be 1 when
// there is more gold than k.
func (r Ranking) AllAt(k int) float64 {
	return r.ofGold(float64(r.hits(k) / max(len(r), 1)))
}

// PrecisionAt is the gold among the first k over k, also when fewer than k
// documents were retrieved.
func (r Ranking) PrecisionAt(k int) float64 {
	return r.ofGold(float64(r.hits(k)) / float64(k))
}

// CappedRecallAt is the gold among the first k over the most that could be
// there, the smaller of k and all gold: R-cap@k, trec_eval's relative_P.
func (r Ranking) CappedRecallAt(k int) float64 {
	return r.ofGold(float64(r.hits(k)) / float64(min(k, len(r))))
}

// ReciprocalRank is 1 over the rank of the first gold, 0 when none was
// retrieved.
func (r Ranking) ReciprocalRank() float64 {
	found := r.found()
	if len(found) == 0 {
		return r.ofGold(0)
	}
	return 1 / float64(found[0].Rank)
}

// AveragePrecision is the mean over all gold of the precision at its rank, 0
// for what was not retrieved. Of rankings that were cut off at k it is
// trec_eval's map_cut_k.
func (r Ranking) AveragePrecision() float64 {
	sum := 0.0
	for i, g := range r.found() {
		sum += float64(i+1) / float64(g.Rank)
	}
	return r.ofGold(sum / float64(len(r)))
}

// NDCGAt is the discounted cumulative gain of the first k over that of the best
// list there could be: all gold, the most worth first, cut off at k. Rank i is
// worth gain/log2(i+1) (Järvelin and Kekäläinen 2002, with the discount of
// trec_eval).
func (r Ranking) NDCGAt(k int) float64 {
	return r.ndcg(k, func(rank int) float64 { return math.Log2(float64(rank + 1)) })
}

// LongMemEvalNDCGAt is NDCGAt as LongMemEval's own script has it, to compare
// with published figures only: rank 1 undiscounted and rank i worth gain/log2(i),
// which cannot tell rank 2 from rank 1.
func (r Ranking) LongMemEvalNDCGAt(k int) float64 {
	return r.ndcg(k, func(rank int) float64 { return max(1, math.Log2(float64(rank))) })
}

func (r Ranking) ndcg(k int, discount func(rank int) float64) float64 {
	got := 0.0
	for _, g := range r.found() {
		if g.Rank <= k {
			got += g.Gain / discount(g.Rank)
		}
	}
	best := slices.Clone(r)
	slices.SortFunc(best, func(a, b Gold) int { return cmp.Compare(b.Gain, a.Gain) })
	ideal := 0.0
	for i, g := range best[:min(k, len(best))] {
		ideal += g.Gain / discount(i+1)
	}
	return r.ofGold(min(1, got/ideal)) // rounding must not leave the range
}

// found is the gold that was retrieved, by rank, so that sums of fractions do
// not depend on the order in which gold was given.
func (r Ranking) found() Ranking {
	found := slices.DeleteFunc(slices.Clone(r), func(g Gold) bool { return g.Rank == 0 })
	slices.SortFunc(found, func(a, b Gold) int { return cmp.Compare(a.Rank, b.Rank) })
	return found
}
