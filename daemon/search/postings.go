package search

import (
	"slices"
	"unsafe"
)

// postings lists the chunks that contain one term.
type postings struct {
	chunks  []uint32 // ascending, deleted chunks included
	tallies []uint8  // the number of the tally of each
	live    int      // document frequency: the number of live chunks
}

// withRoom returns the list with room for another element. A full list that is not short gets an
// eighth of its length, where append adds a quarter and more: the lists are the largest part of an
// index.
func withRoom[T any](list []T) []T {
	if len(list) < cap(list) || len(list) < 32 {
		return list
	}
	return append(slices.Grow([]T(nil), len(list)+len(list)/8), list...)
}

// valid reports whether the chunks of a list ascend and are below a number, and so its tallies.
func (p *postings) valid(chunks uint64, tallies int) bool {
	for i, n := range p.chunks {
		if uint64(n) >= chunks || i > 0 && n <= p.chunks[i-1] || int(p.tallies[i]) >= tallies {
			return false
		}
	}
	return true
}

// blocks are what the parts of a snapshot were read into, and lists of postings compacted.
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
