package search

import "slices"

// passages are chunks whose terms are counted.
type passages struct {
	chunks []uint32 // ascending
	// places has, by chunk number, a passage's place in chunks plus one, and 0 for all other
	// chunks.
	places []uint32
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

// place returns the place of a chunk, or -1 if it is not among the passages.
func (p passages) place(n uint32) int { return int(p.places[n]) - 1 }

// farPostings is the number of postings from which gallop skips them faster than a loop.
const farPostings = 128

// frequencies returns the occurrences of a term in the passages, in their order. They are valid
// until the next call.
func (ix *Index) frequencies(s *scratch, term uint32, in passages) []occurrence {
	norm, p := ix.lengthNorm(), &ix.postings[term]
	tf := func(i int, n uint32) float64 {
		return weightedCount(ix.tally(term, n, p.tallies[i]), norm.of(ix.extents[n]))
	}
	found, list := s.occurrences[:0], p.chunks
	if len(list) <= 2*len(in.chunks) {
		for i, n := range list {
			if place := in.places[n]; place > 0 {
				found = append(found, occurrence{int(place) - 1, tf(i, n)})
			}
		}
		s.occurrences = found
		return found
	}
	far := len(list) > farPostings*len(in.chunks)
	at := 0
	for i, n := range in.chunks {
		if far {
			at += gallop(list[at:], n)
		} else {
			for at < len(list) && list[at] < n {
				at++
			}
		}
		if at == len(list) {
			break
		}
		if list[at] == n {
			found = append(found, occurrence{i, tf(at, n)})
		}
	}
	s.occurrences = found
	return found
}

// gallop returns the position of the first chunk from n on. It begins near the front, because it is
// called for one chunk after the other.
func gallop(list []uint32, n uint32) int {
	end := 1
	for end < len(list) && list[end-1] < n {
		end *= 2
	}
	start, end := end/2, min(end, len(list))
	i, _ := slices.BinarySearch(list[start:end], n)
	return start + i
}
