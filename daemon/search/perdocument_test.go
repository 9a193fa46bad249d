package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
)

// The limit holds in every mode and order, the best passages are taken, and places that are left
// are filled only if the query asks for it.
func TestMaxPerDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ix := New(&Options{ChunkSize: document.MinChunkSize})
		passages := 0
		for i := range rapid.IntRange(1, 5).Draw(t, "documents") {
			var text strings.Builder
			for n := range rapid.IntRange(1, 6).Draw(t, "passages") {
				words := strings.Repeat("cat ", rapid.IntRange(1, 4).Draw(t, "cats"))
				fmt.Fprintf(&text, "# part %d\n%s of %d.%d %s\n", n, words, i, n, strings.Repeat("sea ", 10))
				passages++
			}
			ix.Put(document.Document{Path: fmt.Sprintf("%d.md", i), Text: text.String(), Date: day(1 + i)})
		}
		s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: &byLength{}})
		q := Query{
			Text: "cat",
			Mode: rapid.SampledFrom([]Mode{ModeBM25, ModeHybrid, ModeHybridRerank}).Draw(t, "mode"),
			Sort: rapid.SampledFrom([]Sort{SortRelevance, SortRecency, SortRelevanceThenRecency}).Draw(t, "sort"),
			TopK: rapid.IntRange(1, 12).Draw(t, "k"),
		}
		of := func(limit int, fill bool) []Hit {
			q.MaxPerDocument, q.FillPlaces = limit, fill
			res, err := s.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return res.Hits
		}
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		strict, filled, free := of(limit, false), of(limit, true), of(0, false)
		counts := map[string]int{}
		for _, h := range strict {
			if counts[h.Path]++; counts[h.Path] > limit {
				t.Fatalf("%d hits of %s, the limit is %d", counts[h.Path], h.Path, limit)
			}
		}
		if q.Sort == SortRelevance && free[0].ChunkID != strict[0].ChunkID {
			t.Fatalf("the best passage is %s, with a limit %s", free[0].ChunkID, strict[0].ChunkID)
		}
		if len(filled) != len(free) {
			t.Fatalf("%d hits with filled places, %d without a limit", len(filled), len(free))
		}
		for _, h := range strict {
			if !slices.ContainsFunc(filled, func(other Hit) bool { return other.ChunkID == h.ChunkID }) {
				t.Fatalf("filling places excluded %s", h.ChunkID)
			}
		}
	})
}
