package search

import (
	"math/bits"
	"slices"
)

// candidate is a chunk with its score.
type candidate struct {
	score float64
	chunk uint32
}

// levels sorts candidates into levels of their scores, to find or sort the best ones in linear
// time.
type levels struct {
	counts [1024]uint32 // candidates by level
	sorted []candidate
}

// split moves the candidates that may be among the k best to the front: at least k of them, unless
// there are fewer, and all others with an equal or higher score. It returns the front and the rest.
func (l *levels) split(all []candidate, k int) (front, rest []candidate) {
	if len(all) <= 2*k {
		return all, nil
	}
	level := l.count(all)
	lowest := 0
	for n := int(l.counts[0]); n < k; n += int(l.counts[lowest]) {
		lowest++
	}
	n := 0
	for i, c := range all {
		if level.of(c) <= lowest {
			all[i], all[n] = all[n], c
			n++
		}
	}
	return all[:n], all[n:]
}

// sort sorts candidates, the best first. Those with equal scores are compared.
func (l *levels) sort(all []candidate, compare func(a, b candidate) int) {
	if len(all) < 2*12 { // where an insertion sort is as fast
		slices.SortFunc(all, compare)
		return
	}
	level := l.count(all)
	l.sorted = append(l.sorted[:0], all...)
	end := uint32(0)
	for i, n := range l.counts {
		l.counts[i] = end // where the level begins, and then where its next candidate belongs
		end += n
	}
	for _, c := range l.sorted {
		at := &l.counts[level.of(c)]
		all[*at] = c
		*at++
	}
	start := uint32(0)
	for _, end := range l.counts {
		if end > start+1 {
			slices.SortFunc(all[start:end], compare)
		}
		start = end
	}
}

// levelScale converts scores to levels, 0 for the highest.
type levelScale struct{ highest, factor float64 }

func (s levelScale) of(c candidate) int { return int((s.highest - c.score) * s.factor) }

// count counts the candidates of each level.
func (l *levels) count(all []candidate) levelScale {
	highest, lowest := all[0].score, all[0].score
	for _, c := range all {
		if c.score > highest {
			highest = c.score
		} else if c.score < lowest {
			lowest = c.score
		}
	}
	level := levelScale{highest: highest}
	if highest > lowest {
		level.factor = float64(len(l.counts)-1) / (highest - lowest)
	}
	clear(l.counts[:])
	for _, c := range all {
		l.counts[level.of(c)]++
	}
	return level
}

// numberSet is a set of chunk numbers, empty between uses.
type numberSet []uint64

// sparse is the ratio between the sizes of a whole and a part from which sorting the part is
// faster.
const sparse = 1024

// sort sorts different numbers.
func (s *numberSet) sort(list []uint32) {
	highest := uint32(0)
	for _, n := range list {
		highest = max(highest, n)
	}
	if int(highest) > sparse*len(list) {
		slices.Sort(list)
		return
	}
	if missing := int(highest)/64 + 1 - len(*s); missing > 0 {
		*s = append(*s, make([]uint64, missing)...)
	}
	set := *s
	for _, n := range list {
		set[n/64] |= 1 << (n % 64)
	}
	list = list[:0]
	for i := range set[:highest/64+1] {
		for ; set[i] != 0; set[i] &= set[i] - 1 {
			list = append(list, uint32(i*64+bits.TrailingZeros64(set[i])))
		}
	}
}
