package search

import (
	"cmp"
	"slices"
	"strings"
)

// maxBlock bounds the documents of a block of an order: an insertion moves that
// many pointers at most.
const maxBlock = 512

// order keeps the documents by folder and by path within it, so that those of
// one folder stand together in their order: the turns of a conversation, the
// days of a diary. Documents are kept in blocks, none of them empty.
type order struct {
	blocks [][]*entry
}

// neighbours gives the documents before and after doc in its folder, nil where
// there is none. Called with mu held.
func (ix *Index) neighbours(doc *entry) (prev, next *entry) {
	b, i, _ := ix.order.find(doc)
	block := ix.order.blocks[b]
	if i > 0 {
		prev = block[i-1]
	} else if b > 0 {
		before := ix.order.blocks[b-1]
		prev = before[len(before)-1]
	}
	if i+1 < len(block) {
		next = block[i+1]
	} else if b+1 < len(ix.order.blocks) {
		next = ix.order.blocks[b+1][0]
	}
	folder, _ := splitPath(doc.Path)
	return inFolder(prev, folder), inFolder(next, folder)
}

func inFolder(doc *entry, folder string) *entry {
	if doc != nil {
		if f, _ := splitPath(doc.Path); f == folder {
			return doc
		}
	}
	return nil
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

// find gives the place of the document with the path of doc: its block and its
// position there, or where it would be inserted.
func (o *order) find(doc *entry) (b, i int, found bool) {
	b, found = slices.BinarySearchFunc(o.blocks, doc, func(block []*entry, doc *entry) int {
		return compareOrder(block[0], doc)
	})
	if found || len(o.blocks) == 0 {
		return b, 0, found
	}
	b = max(b-1, 0) // doc is not before the first of this block
	i, found = slices.BinarySearchFunc(o.blocks[b], doc, compareOrder)
	return b, i, found
}

func (o *order) insert(doc *entry) {
	if len(o.blocks) == 0 {
		o.blocks = [][]*entry{{doc}}
		return
	}
	b, i, _ := o.find(doc)
	block := slices.Insert(o.blocks[b], i, doc)
	o.blocks[b] = block
	if len(block) <= maxBlock {
		return
	}
	// Documents often come in their order: then the first block stays full.
	cut := maxBlock / 2
	if i == maxBlock {
		cut = maxBlock
	}
	o.blocks[b] = block[:cut:cut]
	o.blocks = slices.Insert(o.blocks, b+1, slices.Clone(block[cut:]))
}

func (o *order) remove(doc *entry) {
	b, i, _ := o.find(doc)
	o.blocks[b] = slices.Delete(o.blocks[b], i, i+1)
	if len(o.blocks[b]) == 0 {
		o.blocks = slices.Delete(o.blocks, b, b+1)
	}
}
