package search

import (
	"fmt"
	"strings"
	"testing"

	"evalctl/daemon/search/document"
)

// Postings whose tallies have no number of their own are counted in their chunks.
func TestManyTallies(t *testing.T) {
	ix, docs := New(nil), map[string]document.Document{}
	for i := range 200 {
		d := document.Document{Path: fmt.Sprintf("%d.txt", i), Title: strings.Repeat("cat ", i%7), Text: strings.Repeat("cat ", i%120) + "dog"}
		docs[d.Path] = d
		ix.Put(d)
	}
	if len(ix.tallies.list) != maxTallies {
		t.Fatalf("%d tallies", len(ix.tallies.list))
	}
	check := func(ix *Index) {
		t.Helper()
		found := 0
		for _, n := range ix.postings[ix.numbers["cat"]].tallies {
			if n == uncounted {
				found++
			}
		}
		if found == 0 {
			t.Error("every posting has a tally")
		}
		checkScores(t, ix.Search(Query{Text: "cats and dogs", TopK: 1000}).Hits, naive(docs, 0, "cats and dogs"))
	}
	check(ix)
	again, err := readSnapshot(snapshot(t, ix), nil)
	if err != nil {
		t.Fatal(err)
	}
	check(again)
	for i := range 100 {
		path := fmt.Sprintf("%d.txt", i*2)
		again.Delete(path)
		delete(docs, path)
	}
	check(again)
}
