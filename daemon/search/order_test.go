package search

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evalctl/daemon/search/document"
)

// Folders of many documents are filled and emptied in any order.
func TestNeighboursOfMany(t *testing.T) {
	ix := New(nil)
	var paths []string
	for i := range 3000 {
		paths = append(paths, fmt.Sprintf("turns/%04d.md", i), fmt.Sprintf("days/%d.md", i))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for i, path := range paths {
		ix.Put(document.Document{Path: path, Text: "cat"})
		if i%3 == 0 {
			ix.Delete(paths[rng.IntN(i+1)])
		}
	}
	checkNeighbours(t, ix)
	for _, block := range ix.order.blocks {
		if len(block) == 0 || len(block) > maxBlock {
			t.Errorf("a block of %d documents", len(block))
		}
	}
	for _, path := range paths {
		ix.Delete(path)
	}
	if len(ix.order.blocks) != 0 {
		t.Errorf("%d blocks are left", len(ix.order.blocks))
	}
}

func TestNeighboursInOrder(t *testing.T) {
	ix := New(nil)
	for i := range 2000 {
		ix.Put(document.Document{Path: fmt.Sprintf("turns/%04d.md", i), Text: "cat"})
	}
	checkNeighbours(t, ix)
	if n := len(ix.order.blocks); n != 4 {
		t.Errorf("2000 documents in their order fill %d blocks, want 4", n)
	}
}
