package history

import (
	"evalctl/harness/key"
	"evalctl/internal/stats"
)

// Test detects changes of the pass rate. A change lasts at least three nights; a line without
// changes shows one with a probability of at most 2%.
var Test = stats.ChangeTest{MinSegment: 3, Alpha: 0.02, Resamples: 1999, Seed: 1}

// Change is a night from which the pass rate was different.
type Change struct {
	// Date is the first night after the change.
	Date string `json:"date"`
	// Before and After are the pass rates over all questions of the nights on each side, up to the
	// next change. NightsBefore and NightsAfter count these nights.
	Before       float64 `json:"before"`
	After        float64 `json:"after"`
	NightsBefore int     `json:"nights_before"`
	NightsAfter  int     `json:"nights_after"`
	// P is the probability of so clear a change without a real one (stats.ChangePoints).
	P float64 `json:"p"`
	// Changed are the identity keys that differ from the last night before with a score. It is
	// empty if nothing recorded in results has changed.
	Changed []string `json:"changed"`
}

// changesOf returns the changes of the pass rate. Nights without a score are ignored.
func changesOf(nights []Night) []Change {
	var scored []Night
	var passed, total []int
	for _, n := range nights {
		if n.Entry.Scored() {
			scored = append(scored, n)
			passed, total = append(passed, n.Entry.Passed), append(total, n.Entry.Total)
		}
	}
	points := stats.ChangePoints(passed, total, Test)
	out := []Change{}
	for i, p := range points {
		first, last := 0, len(scored)
		if i > 0 {
			first = points[i-1].At
		}
		if i+1 < len(points) {
			last = points[i+1].At
		}
		now, before := scored[p.At].Entry.Result, scored[p.At-1].Entry.Result
		out = append(out, Change{
			Date: scored[p.At].Date, Before: p.Before, After: p.After, P: p.P,
			NightsBefore: p.At - first, NightsAfter: last - p.At,
			Changed: key.Changed(key.Trend, before.Identity, now.Identity),
		})
	}
	return out
}
