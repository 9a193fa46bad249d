package search

import (
	"slices"
	"unsafe"
)

// The fields in which terms are counted, see fieldWeights. Title and path belong to the document;
// labels are its tags and the headings above the chunk.
const (
	textField = iota
	titleField
	pathField
	labelsField
	fieldCount
)

// maxCount is the largest counted number of occurrences of a term in a field. More add almost
// nothing to a score: even a tenth as many reach nearly the same gain.
const maxCount = 255

// tally has the number of occurrences of a term in each field of a chunk, each at most maxCount.
type tally [fieldCount]uint8

// tallies numbers the tallies of postings, so that each takes a byte. There are few different ones:
// nearly all terms occur a few times in the text, and at most once in each other field.
type tallies struct {
	list  []tally // by number; uncounted has the zero tally
	known map[tally]uint8
}

// uncounted is the number of tallies without a number of their own, because all others are taken.
// The terms of the chunk are counted again where needed.
const (
	uncounted  = 0
	maxTallies = 256
)

// usual is the number of occurrences in the text up to which tallies have a number from the start.
const usual = 15

func newTallies() tallies {
	t := tallies{list: make([]tally, 1, maxTallies), known: map[tally]uint8{}}
	for others := range uint8(1 << (fieldCount - 1)) {
		for text := range uint8(usual + 1) {
			t.number(tally{textField: text, titleField: others & 1, pathField: others >> 1 & 1, labelsField: others >> 2})
		}
	}
	return t
}

func (t *tallies) number(counts tally) uint8 {
	n, known := t.known[counts]
	if !known && len(t.list) < maxTallies {
		n = uint8(len(t.list))
		t.known[counts] = n
		t.list = append(t.list, counts)
	}
	return n
}

// restore adds the tallies of a snapshot, in their order. It reports whether they are all different
// and begin with those in newTallies.
func (t *tallies) restore(list []tally) bool {
	if len(list) < len(t.list)-1 {
		return false
	}
	for i, counts := range list {
		if int(t.number(counts)) != i+1 {
			return false
		}
	}
	return true
}

// postings lists the chunks that contain one term.
type postings struct {
	chunks  []uint32 // ascending, deleted chunks included
	tallies []uint8  // the number of the tally of each
	live    int      // document frequency: the number of live chunks
}

// withRoom returns the list with room for another element. A full list that is not short grows by
// an eighth, while append adds a quarter and more: the lists are the largest part of an index.
func withRoom[T any](list []T) []T {
	if len(list) < cap(list) || len(list) < 32 {
		return list
	}
	return append(slices.Grow([]T(nil), len(list)+len(list)/8), list...)
}

// valid reports whether the chunks of a list ascend and are below a number, and whether its tallies
// are below another.
func (p *postings) valid(chunks uint64, tallies int) bool {
	for i, n := range p.chunks {
		if uint64(n) >= chunks || i > 0 && n <= p.chunks[i-1] || int(p.tallies[i]) >= tallies {
			return false
		}
	}
	return true
}

// blocks are the memory that parts of a snapshot were read into, and that lists of postings were
// compacted into.
type blocks struct {
	documents int // entries
	chunks    []uint32
	tallies   []uint8
	texts     int // bytes of the parts with documents
}

// within reports whether a list is a part of a block.
func within[T any](list, block []T) bool {
	first, from := uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(unsafe.Pointer(unsafe.SliceData(block)))
	return first >= from && first < from+uintptr(cap(block))*unsafe.Sizeof(*new(T))
}
