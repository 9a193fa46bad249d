package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// sortHits orders hits that are in order of relevance as by asks. Hits that are
// equal in it stay in order of relevance.
func sortHits(hits []Hit, by Sort) {
	switch by {
	case sortRecency:
		slices.SortStableFunc(hits, newestFirst)
	case sortRelevanceThenRecency:
		slices.SortStableFunc(hits, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(roundScore(b.Score), roundScore(a.Score)), newestFirst(a, b))
		})
	}
}

// settle makes the scores of hits tell their order to whoever sorts by score and
// breaks ties by path: the score of a hit that would rise is lowered to the next
// number below that of the hit before it.
func spreadTies(hits []Hit) {
	for i := 1; i < len(hits); i++ {
		before, h := &hits[i-1], &hits[i]
		if h.Score > before.Score || h.Score == before.Score && h.Path < before.Path {
			h.Score = math.Nextafter(before.Score, math.Inf(-1))
		}
	}
}

// newestFirst leaves undated hits for the end: the zero time is the oldest.
func newestFirst(a, b Hit) int {
	return b.Date.Compare(a.Date)
}

// roundScore rounds to 6 significant digits, below which scores differ by the
// order of their additions only.
func roundScore(score float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(score, 'g', 6, 64), 64)
	if err != nil {
		return score // NaN
	}
	return rounded
}

// check tells an unknown order.
func (s Sort) check() error {
	switch s {
	case "", sortRelevance, sortRecency, sortRelevanceThenRecency:
		return nil
	}
	return fmt.Errorf("sort %q is not one of relevance, recency, relevance_then_recency", s)
}
