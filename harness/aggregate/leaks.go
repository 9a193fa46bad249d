package aggregate

import (
	"slices"

	"evalctl/harness/result"
)

// addLeaks counts the leaks of a question.
func addLeaks(f *result.LeakFigures, r result.Record) {
	if len(r.Leaks) == 0 {
		return
	}
	f.Questions++
	if f.Places == nil {
		f.Places = map[result.Place]int{}
	}
	if slices.ContainsFunc(r.Leaks, func(l result.Leak) bool { return l.Origin == result.OfDeleted || l.Origin == result.OfAnother }) {
		f.Severe++
	}
	for _, p := range result.Places() {
		if slices.ContainsFunc(r.Leaks, func(l result.Leak) bool { return l.Place == p }) {
			f.Places[p]++
		}
	}
}
