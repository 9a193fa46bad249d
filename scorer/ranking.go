package scorer

import (
	"cmp"
	"math"
	"slices"
)

// Gold is a document that answers a question, or a piece of evidence, which has no path and whose
// rank is a passage's.
type Gold struct {
	Path string `json:"path"`
	// Gain is the value of the document, above 0: its grade, or 1 for binary relevance.
	Gain float64 `json:"gain"`
	// Rank is the document's position among the retrieved documents, from 1; 0 if it was not
	// retrieved.
	Rank int `json:"rank"`
}

// Ranking is all gold of one question, each document once and in any order, with its ranks in one
// list of documents. Its methods are the measures of trec_eval unless documented otherwise. A
// cut-off k counts documents and is at least 1; math.MaxInt means no cut-off. Without gold every
// measure is NaN, and the question must be left out of means.
type Ranking []Gold

// Rank finds gold in a list of documents, best first. Repeated documents are dropped and the ones
// below move up. gold itself is not modified.
func Rank(documents []string, gold []Gold) Ranking {
	documents = distinct(documents)
	r := slices.Clone(gold)
	ranks := make(map[string]int, len(documents))
	for i, d := range documents {
		ranks[d] = i + 1
	}
	for i := range r {
		r[i].Rank = ranks[r[i].Path]
	}
	return r
}

// EvidenceRanking returns a Ranking of evidence with these ranks.
func EvidenceRanking(ranks []int) Ranking {
	var r Ranking
	for _, rank := range ranks {
		r = append(r, Gold{Gain: 1, Rank: rank})
	}
	return r
}

// Hit is a retrieved passage with the path of its document. Score is 0 if unknown.
type Hit struct {
	Path  string
	Score float64
}

// Documents converts hits, best first, to distinct documents at the position of their best hit.
// Adjacent hits with equal scores are sorted by path, ascending, so that ties are deterministic
// (trec_eval sorts descending). Hits without a score keep their order. Each hit without a path is a
// document of its own.
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

// distinct drops repeated documents, but keeps all documents without a path.
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

// foundAt counts the gold among the first k.
func (r Ranking) foundAt(k int) int {
	n := 0
	for _, g := range r {
		if g.Rank > 0 && g.Rank <= k {
			n++
		}
	}
	return n
}

// orNaN returns the figure, or NaN without gold.
func (r Ranking) orNaN(figure float64) float64 {
	if len(r) == 0 {
		return math.NaN()
	}
	return figure
}

// RecallAt is the share of the gold among the first k.
func (r Ranking) RecallAt(k int) float64 {
	return r.orNaN(float64(r.foundAt(k)) / float64(len(r)))
}

// AnyAt is 1 if any gold is among the first k, else 0.
func (r Ranking) AnyAt(k int) float64 {
	return r.orNaN(float64(min(r.foundAt(k), 1)))
}

// SuccessAt is trec_eval's name for AnyAt.
func (r Ranking) SuccessAt(k int) float64 { return r.AnyAt(k) }

// AllAt is 1 if all gold is among the first k, else 0. It is always 0 if there is more gold than k.
func (r Ranking) AllAt(k int) float64 {
	return r.orNaN(float64(r.foundAt(k) / max(len(r), 1)))
}

// PrecisionAt is the gold among the first k divided by k, even if fewer than k documents were
// retrieved.
func (r Ranking) PrecisionAt(k int) float64 {
	return r.orNaN(float64(r.foundAt(k)) / float64(k))
}

// CappedRecallAt is the gold among the first k divided by the maximum possible, the smaller of k
// and all gold. It is also called R-cap@k, and relative_P in trec_eval.
func (r Ranking) CappedRecallAt(k int) float64 {
	return r.orNaN(float64(r.foundAt(k)) / float64(min(k, len(r))))
}

// ReciprocalRank is 1 divided by the rank of the first gold, or 0 if no gold was retrieved.
func (r Ranking) ReciprocalRank() float64 {
	found := r.retrieved()
	if len(found) == 0 {
		return r.orNaN(0)
	}
	return 1 / float64(found[0].Rank)
}

// AveragePrecision is the mean over all gold of the precision at its rank, 0 for gold that was not
// retrieved. For rankings cut off at k it is trec_eval's map_cut_k.
func (r Ranking) AveragePrecision() float64 {
	sum := 0.0
	for i, g := range r.retrieved() {
		sum += float64(i+1) / float64(g.Rank)
	}
	return r.orNaN(sum / float64(len(r)))
}

// RankBiasedPrecision is the expected rate at which a reader finds gold who looks at the first
// document, and at each next one with probability p: (1-p)·Σ p^(rank-1) over all retrieved gold
// (Moffat and Zobel 2008). It ignores gains and is below 1. p is 0.8 for a patient reader, for
// example; the result is NaN unless 0 <= p < 1.
func (r Ranking) RankBiasedPrecision(p float64) float64 {
	if !(p >= 0 && p < 1) {
		return math.NaN()
	}
	sum := 0.0
	for _, g := range r.retrieved() {
		sum += math.Pow(p, float64(g.Rank-1))
	}
	return r.orNaN((1 - p) * sum)
}

// NDCGAt is the discounted cumulative gain of the first k divided by the gain of the ideal list,
// all gold by descending gain, cut off at k. Rank i contributes gain/log2(i+1) (Järvelin and
// Kekäläinen 2002, with trec_eval's discount).
func (r Ranking) NDCGAt(k int) float64 {
	return r.ndcg(k, func(rank int) float64 { return math.Log2(float64(rank + 1)) })
}

// LongMemEvalNDCGAt is NDCGAt as computed by LongMemEval's own script, for comparison with
// published figures only. Rank 1 is not discounted and rank i contributes gain/log2(i), so ranks 1
// and 2 are equal.
func (r Ranking) LongMemEvalNDCGAt(k int) float64 {
	return r.ndcg(k, func(rank int) float64 { return max(1, math.Log2(float64(rank))) })
}

func (r Ranking) ndcg(k int, discount func(rank int) float64) float64 {
	got := 0.0
	for _, g := range r.retrieved() {
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
	return r.orNaN(min(1, got/ideal)) // rounding must not leave the range
}

// retrieved returns the retrieved gold sorted by rank, so that floating-point sums do not depend on
// the order of the gold.
func (r Ranking) retrieved() Ranking {
	found := slices.DeleteFunc(slices.Clone(r), func(g Gold) bool { return g.Rank == 0 })
	slices.SortFunc(found, func(a, b Gold) int { return cmp.Compare(a.Rank, b.Rank) })
	return found
}
