package search

import (
	"runtime"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/daemon/search/document"
)

// Putting many documents at once, analysed by several goroutines that find the same new words,
// results in the same index as putting them one by one.
func TestPutMany(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // also on one processor
	docs := newCorpus().documents(3 * maxBatch / 2)
	docs = append(docs, document.Document{Path: docs[0].Path, Text: "replaced at once"}) // the later one is kept
	many, single := New(nil), New(nil)
	many.Put(docs...)
	for _, d := range docs {
		single.Put(d)
	}
	checkSequences(t, many)
	checkNeighbours(t, many)
	for _, query := range []string{docs[1].Text, docs[maxBatch].Text, "replaced"} {
		q := Query{Text: query, TopK: 50}
		if diff := gocmp.Diff(single.Search(q), many.Search(q)); diff != "" {
			t.Errorf("%.30q differs (-single +many):\n%s", query, diff)
		}
	}
	if many.Len() != len(docs)-1 || many.Chunks() != single.Chunks() {
		t.Errorf("%d documents in %d chunks, want %d in %d", many.Len(), many.Chunks(), len(docs)-1, single.Chunks())
	}
}
