package stats

import (
	"math/rand/v2"
	"slices"
)

// ChangePoint is a place in a series at which its rate changed.
type ChangePoint struct {
	// At is the index of the first element after the change.
	At int
	// P is the probability of a change this clear somewhere in the segment that was split here, if
	// any order of its elements were equally likely.
	P float64
	// Before and After are the rates of the segments on both sides, up to the next change.
	Before, After float64
}

// ChangeTest says when ChangePoints reports a change.
type ChangeTest struct {
	MinSegment int     // the fewest elements between two changes, at least 1
	Alpha      float64 // the largest P that is reported
	Resamples  int     // how many orders each test draws
	Seed       uint64
}

// ChangePoints returns the places where the rate of a series changed, in the order of the series.
// Element i had passed[i] of total[i] successes.
//
// The method is binary segmentation (Scott and Knott 1974) with binomial rates. A segment is split
// where the rates on both sides differ most, which is where
//
//	χ² = (k - n·r)² / (n·(1-n/N)·r·(1-r))
//
// is largest, for k successes in the n attempts of one side, and a rate r over all N attempts of
// the segment. If there is no change, the stretch within the segment that differs most from the
// rest is tested next, as in circular binary segmentation (Olshen et al. 2004). The segment is
// split at the ends of the stretch. An end is left out if the rates of its two sides do not differ
// by χ² at the level Alpha. The parts are then treated in the same way.
//
// P comes from a permutation test: the share of random orders of the segment whose largest χ² is
// not smaller, including the order of the series, times two for the two tests. So it is never below
// 2/(Resamples+1). The tests assume nothing about the spread of the elements. In a series of
// exchangeable elements, the probability of finding any change is at most Alpha, because only the
// tests of the whole series can begin one. A slow drift is reported as one or more changes.
//
// The result is nil for lists of different lengths, for contradictory counts, and for an invalid
// test. The time grows with Resamples·m² for segments of m elements.
func ChangePoints(passed, total []int, test ChangeTest) []ChangePoint {
	if len(passed) != len(total) || test.MinSegment < 1 || test.Resamples < 1 || !(test.Alpha > 0 && test.Alpha < 1) {
		return nil
	}
	series := make([]outcomes, len(passed))
	for i := range series {
		if passed[i] < 0 || passed[i] > total[i] {
			return nil
		}
		series[i] = outcomes{float64(passed[i]), float64(total[i])}
	}
	points := splitSegment(series, 0, test, rand.New(rand.NewPCG(test.Seed, 0)))
	for i := range points {
		first, last := 0, len(series)
		if i > 0 {
			first = points[i-1].At
		}
		if i+1 < len(points) {
			last = points[i+1].At
		}
		points[i].Before, points[i].After = pooled(series[first:points[i].At]).rate(), pooled(series[points[i].At:last]).rate()
	}
	return points
}

// outcomes are k successes in n attempts.
type outcomes struct{ k, n float64 }

func (t outcomes) rate() float64 { return t.k / t.n }

// chi2 compares the rate of t, a part of all, with the rate of the rest. It is 0 where they cannot
// differ.
func (t outcomes) chi2(all outcomes) float64 {
	variance := t.n * (1 - t.n/all.n) * all.rate() * (1 - all.rate())
	if !(variance > 0) {
		return 0
	}
	d := t.k - t.n*all.rate()
	return d * d / variance
}

func (t outcomes) plus(u outcomes) outcomes { return outcomes{t.k + u.k, t.n + u.n} }

func pooled(series []outcomes) (s outcomes) {
	for _, t := range series {
		s = s.plus(t)
	}
	return s
}

// splitSegment returns the changes in a part of a series that begins at offset.
func splitSegment(series []outcomes, offset int, test ChangeTest, rng *rand.Rand) []ChangePoint {
	p, ends := 1.0, []int(nil)
	for _, inner := range []bool{false, true} {
		from, to, chi2 := clearestStretch(series, test.MinSegment, inner)
		if p = permutationP(series, chi2, inner, test, rng); p <= test.Alpha {
			ends = clearEnds(series, from, to, test.Alpha)
			break
		}
	}
	if ends == nil {
		return nil
	}
	var points []ChangePoint
	begin := 0
	for _, at := range append(ends, len(series)) {
		points = append(points, splitSegment(series[begin:at], offset+begin, test, rng)...)
		if at < len(series) {
			points = append(points, ChangePoint{At: offset + at, P: p})
		}
		begin = at
	}
	return points
}

// permutationP returns the P of ChangePoints for a stretch of a series with this χ².
func permutationP(series []outcomes, chi2 float64, inner bool, test ChangeTest, rng *rand.Rand) float64 {
	if chi2 == 0 {
		return 1
	}
	notSmaller := chi2 - 1e-9*max(1, chi2) // rounding depends on the order of the elements
	reached, order := 1, slices.Clone(series)
	for range test.Resamples {
		for i := len(order) - 1; i > 0; i-- {
			j := rng.IntN(i + 1)
			order[i], order[j] = order[j], order[i]
		}
		if _, _, other := clearestStretch(order, test.MinSegment, inner); other >= notSmaller {
			reached++
		}
	}
	return min(1, 2*float64(reached)/float64(test.Resamples+1))
}

// clearestStretch returns the stretch [from, to) of a series that differs most from the rest, with
// its χ², or 0 if there is none. The stretch begins with the series, unless inner is set: then it
// reaches neither end. The stretch and the remaining sides have at least least elements.
func clearestStretch(series []outcomes, least int, inner bool) (from, to int, chi2 float64) {
	all := pooled(series)
	first, last := 0, 0
	if inner {
		first, last = least, len(series)-2*least
	}
	for i := first; i <= last; i++ {
		var part outcomes
		for j := i + 1; j <= len(series)-least; j++ {
			part = part.plus(series[j-1])
			if j-i < least {
				continue
			}
			if this := part.chi2(all); this > chi2 {
				from, to, chi2 = i, j, this
			}
		}
	}
	return from, to, chi2
}

// clearEnds returns the ends of a stretch that are within the series and at which its rate changes
// clearly: one or both.
func clearEnds(series []outcomes, from, to int, alpha float64) []int {
	if from == 0 {
		return []int{to}
	}
	before, within, after := pooled(series[:from]), pooled(series[from:to]), pooled(series[to:])
	begins, ends := within.chi2(within.plus(before)), within.chi2(within.plus(after))
	z := NormalQuantile(1 - alpha/2)
	switch {
	case min(begins, ends) >= z*z:
		return []int{from, to}
	case begins >= ends:
		return []int{from}
	}
	return []int{to}
}
