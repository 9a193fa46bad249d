package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Sort is an order of hits (spec 4.1, memory_search): relevance, recency or relevance_then_recency;
// empty means relevance. Each order sorts the TopK hits that match best. Hits that are equal in it
// are sorted by relevance.
type Sort string

// The orders.
const (
	SortRelevance Sort = "relevance" // the default
	// SortRecency has the newest hits first and undated ones last. Of candidates with the same
	// text, the newest is the hit and the others are its duplicates.
	SortRecency Sort = "recency"
	// SortRelevanceThenRecency is SortRelevance, except that hits whose scores agree in 6
	// significant digits are ordered as in SortRecency. If they have the same text, the newest is
	// the hit.
	SortRelevanceThenRecency Sort = "relevance_then_recency"
)

// check returns an error if the order is unknown.
func (s Sort) check() error {
	if slices.Contains([]Sort{"", SortRelevance, SortRecency, SortRelevanceThenRecency}, s) {
		return nil
	}
	return fmt.Errorf("sort %q is not one of relevance, recency, relevance_then_recency", s)
}

// sortHits sorts hits that are in order of relevance. Hits that are equal in the new order keep
// that order.
func sortHits(hits []Hit, by Sort) {
	switch by {
	case SortRecency:
		slices.SortStableFunc(hits, newestFirst)
	case SortRelevanceThenRecency:
		slices.SortStableFunc(hits, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(roundScore(b.Score), roundScore(a.Score)), newestFirst(a, b))
		})
	}
}

// SpreadTies makes the order of hits follow from their scores, for clients that sort by score and
// break ties by path. It lowers a score that would move its hit up to the next number below the
// score of the hit before it.
func SpreadTies(hits []Hit) {
	for i := 1; i < len(hits); i++ {
		before, h := &hits[i-1], &hits[i]
		if h.Score > before.Score || h.Score == before.Score && h.Path < before.Path {
			h.Score = math.Nextafter(before.Score, math.Inf(-1))
		}
	}
}

// newestFirst puts hits without a date last: the zero time is the oldest.
func newestFirst(a, b Hit) int {
	return b.Date.Compare(a.Date)
}

// roundScore rounds to 6 significant digits. Smaller differences come from the order of additions
// only.
func roundScore(score float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(score, 'g', 6, 64), 64)
	if err != nil {
		return score // NaN
	}
	return rounded
}
