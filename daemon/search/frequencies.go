package search

import (
	"cmp"
	"slices"
)

// passages are chunks whose terms are counted.
type passages struct {
	chunks []uint32 // ascending
	// places has the place of each of them in chunks, plus one, by chunk number. The others have 0.
	places []uint32
}

// occurrence is a term's tf, as defined at score, in the passage at a place.
type occurrence struct {
	place int
	tf    float64
}

// passages returns the chunks, whose numbers must ascend, as passages. They must be freed.
func (ix *Index) passages(s *scratch, chunks []uint32) passages {
	if missing := len(ix.chunks) - len(s.places); missing > 0 {
		s.places = append(s.places, make([]uint32, missing)...)
	}
	for i, n := range chunks {
		s.places[n] = uint32(i + 1)
	}
	return passages{chunks, s.places}
}

func (p passages) free() {
	for _, n := range p.chunks {
		p.places[n] = 0
	}
}

// place returns the place of a chunk, -1 for one that is not among the passages.
func (p passages) place(n uint32) int { return int(p.places[n]) - 1 }

// gallopCost is about how many postings are read in the time in which gallop finds one.
const gallopCost = 16

// frequencies appends the occurrences of a term in the passages, in their order.
func (ix *Index) frequencies(term uint32, in passages, found []occurrence) []occurrence {
	norm, list := ix.lengthNorm(), ix.postings[term].list
	if len(list) <= gallopCost*len(in.chunks) {
		for i := range list {
			if p := in.places[list[i].chunk]; p > 0 {
				tf := weightedCount(list[i].counts, norm(ix.textLengths[list[i].chunk]))
				found = append(found, occurrence{int(p) - 1, tf})
			}
		}
		return found
	}
	for i, n := range in.chunks {
		list = list[gallop(list, n):]
		if len(list) == 0 {
			break
		}
		if list[0].chunk == n {
			found = append(found, occurrence{i, weightedCount(list[0].counts, norm(ix.textLengths[n]))})
		}
	}
	return found
}

// gallop returns the position of the first posting of chunk n or a later one. It begins near the
// front, because it is called for one chunk after the other.
func gallop(list []posting, n uint32) int {
	end := 1
	for end < len(list) && list[end-1].chunk < n {
		end *= 2
	}
	start, end := end/2, min(end, len(list))
	i, _ := slices.BinarySearchFunc(list[start:end], n, func(p posting, n uint32) int {
		return cmp.Compare(p.chunk, n)
	})
	return start + i
}
