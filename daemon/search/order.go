package search

import (
	"cmp"
	"slices"
	"strings"
)

// maxBlock bounds the documents of a block of an order. An insertion moves at most that many
// pointers.
const maxBlock = 512

// order keeps the documents sorted by folder and then by path, so that the documents of a folder
// are adjacent: the turns of a conversation, the days of a diary. Documents are kept in blocks, and
// no block is empty.
type order struct {
	blocks [][]*entry
}

func splitPath(path string) (folder, base string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i+1], path[i+1:]
}

func compareOrder(a, b *entry) int {
	folderA, baseA := splitPath(a.Path)
	folderB, baseB := splitPath(b.Path)
	return cmp.Or(cmp.Compare(folderA, folderB), cmp.Compare(baseA, baseB))
}

// find returns the place of the document with the path of doc, or where it would be inserted, as a
// block and a position in it. There must be a block.
func (o *order) find(doc *entry) (b, i int) {
	b, first := slices.BinarySearchFunc(o.blocks, doc, func(block []*entry, doc *entry) int {
		return compareOrder(block[0], doc)
	})
	if first {
		return b, 0
	}
	b = max(b-1, 0) // doc is not before the first of this block
	i, _ = slices.BinarySearchFunc(o.blocks[b], doc, compareOrder)
	return b, i
}

func (o *order) insert(doc *entry) {
	if len(o.blocks) == 0 {
		o.blocks = [][]*entry{{doc}}
		return
	}
	b, i := o.find(doc)
	block := slices.Insert(o.blocks[b], i, doc)
	o.blocks[b] = block
	o.link(b, i)
	if len(block) <= maxBlock {
		return
	}
	// Documents often arrive in their order; then the first block stays full.
	cut := maxBlock / 2
	if i == maxBlock {
		cut = maxBlock
	}
	o.blocks[b] = block[:cut:cut]
	o.blocks = slices.Insert(o.blocks, b+1, slices.Clone(block[cut:]))
}

// link makes the document at a place a neighbour of the documents before and after it.
func (o *order) link(b, i int) {
	block := o.blocks[b]
	var prev, next *entry
	if i > 0 {
		prev = block[i-1]
	} else if b > 0 {
		before := o.blocks[b-1]
		prev = before[len(before)-1]
	}
	if i+1 < len(block) {
		next = block[i+1]
	} else if b+1 < len(o.blocks) {
		next = o.blocks[b+1][0]
	}
	linkNeighbours(prev, block[i])
	linkNeighbours(block[i], next)
}

// linkNeighbours makes two consecutive documents neighbours if they are in one folder. Either may
// be nil.
func linkNeighbours(a, b *entry) {
	if a == nil || b == nil {
		return
	}
	folderA, _ := splitPath(a.Path)
	if folderB, _ := splitPath(b.Path); folderA == folderB {
		a.next, b.prev = b, a
	}
}

func (o *order) remove(doc *entry) {
	if doc.prev != nil {
		doc.prev.next = doc.next
	}
	if doc.next != nil {
		doc.next.prev = doc.prev
	}
	b, i := o.find(doc)
	o.blocks[b] = slices.Delete(o.blocks[b], i, i+1)
	if len(o.blocks[b]) == 0 {
		o.blocks = slices.Delete(o.blocks, b, b+1)
	}
}
