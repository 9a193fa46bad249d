package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// sortHits orders hits that are in order of relevance as by asks. Hits that are
// equal in it stay in order of relevance.
func sortHits(hits []Hit, by Sort) {
	switch by {
	case Recency:
		slices.SortStableFunc(hits, newestFirst)
	case RelevanceThenRecency:
		slices.SortStableFunc(hits, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(roundScore(b.Score), roundScore(a.Score)), newestFirst(a, b))
		})
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
	case "", Relevance, Recency, RelevanceThenRecency:
		return nil
	}
	return fmt.Errorf("sort %q is not one of relevance, recency, relevance_then_recency", s)
}
