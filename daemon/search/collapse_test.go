package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
)

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// search runs a query that must not fail.
func search(t *testing.T, s *Searcher, q Query) Result {
	t.Helper()
	res, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// No two documents are neighbours.
func TestDuplicatesCollapse(t *testing.T) {
	ix := New(nil)
	ix.weights = weights{}
	for _, d := range []document.Document{
		{Path: "a/a.txt", Text: "cat cat cat"},
		{Path: "b/b.txt", Text: "  cat cat cat\n"}, // a chunk has no surrounding white space
		{Path: "c/c.txt", Text: "cat cat Cat"},
		{Path: "d/d.txt", Text: "cat cat cat", Title: "whale"}, // ranks first
		{Path: "e/e.txt", Text: "cat at sea"},
		{Path: "f/f.txt", Text: "cat at sea"},
		{Path: "g/g.txt", Text: "cat on land"},
	} {
		ix.Put(d)
	}
	for _, mode := range []Mode{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank} {
		s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: &byLength{}})
		res := search(t, s, Query{Text: "cat whale", Mode: mode, TopK: 10})
		got := map[string][]string{}
		for _, h := range res.Hits {
			got[h.Text] = []string{h.ChunkID}
			for _, d := range h.Duplicates {
				got[h.Text] = append(got[h.Text], d.ChunkID)
				if d.ChunkID != d.Path+"#0" {
					t.Errorf("mode %s: chunk %s is of %s", mode, d.ChunkID, d.Path)
				}
			}
		}
		want := map[string][]string{
			"cat cat cat": {"d/d.txt#0", "a/a.txt#0", "b/b.txt#0"},
			"cat cat Cat": {"c/c.txt#0"},
			"cat at sea":  {"e/e.txt#0", "f/f.txt#0"},
			"cat on land": {"g/g.txt#0"},
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("mode %s (-want +got):\n%s", mode, diff)
		}
		for k := range 3 {
			fewer := search(t, s, Query{Text: "cat whale", Mode: mode, TopK: k + 1})
			if diff := gocmp.Diff(res.Hits[:k+1], fewer.Hits); diff != "" {
				t.Errorf("mode %s: the first %d are others when no more are asked for:\n%s", mode, k+1, diff)
			}
		}
	}
}

// However many documents have the same text, the next texts fill the places. Some duplicates are
// named and all are counted, for the last hit too.
func TestDuplicatesMakeRoom(t *testing.T) {
	ix := New(nil)
	for i := range 700 {
		ix.Put(document.Document{Path: fmt.Sprintf("same%03d.txt", i), Text: "cat cat"})
	}
	for i := range 5 {
		ix.Put(document.Document{Path: fmt.Sprintf("other%d.txt", i), Text: fmt.Sprintf("cat cat dog%d", i)})
		ix.Put(document.Document{Path: fmt.Sprintf("other%d-again.txt", i), Text: fmt.Sprintf("cat cat dog%d", i)})
	}
	s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: &byLength{}})
	for _, mode := range []Mode{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank} {
		res := search(t, s, Query{Text: "cat", Mode: mode, TopK: 3, CandidateK: 10, RerankTopN: 2, Explain: true})
		if len(res.Hits) != 3 || len(res.Hits[0].Duplicates) != 20 || res.Hits[0].MoreDuplicates != 679 {
			t.Errorf("mode %s: %d hits, the first for %d and %d more", mode, len(res.Hits), len(res.Hits[0].Duplicates), res.Hits[0].MoreDuplicates)
			continue
		}
		if h := res.Hits[0]; h.Path != "same000.txt" || h.Duplicates[0].Path != "same001.txt" || h.Duplicates[19].Path != "same020.txt" {
			t.Errorf("mode %s: the first duplicates of %s are %v", mode, h.Path, h.Duplicates)
		}
		if last := res.Hits[2]; last.Path != "other1.txt" && last.Path != "other1-again.txt" || len(last.Duplicates) != 1 || last.MoreDuplicates != 0 {
			t.Errorf("mode %s: the last hit is %s for %v", mode, last.Path, last.Duplicates)
		}
		for _, l := range res.Explanation.Legs {
			if len(l.Candidates) > 10 {
				t.Errorf("mode %s: %d candidates explained of leg %s", mode, len(l.Candidates), l.Name)
			}
		}
	}
}

// A reranker is given as many texts as the query asks for, however many are the same.
func TestRerankerSeesDifferentTexts(t *testing.T) {
	ix := New(nil)
	for i := range 200 {
		ix.Put(document.Document{Path: fmt.Sprintf("same/%d.txt", i), Text: "cat cat"})
	}
	for i := range 60 {
		ix.Put(document.Document{Path: fmt.Sprintf("other/%d.txt", i), Text: fmt.Sprintf("cat number%d and more", i)})
	}
	r := &byLength{}
	search(t, NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: r}), Query{Text: "cat", TopK: 1, Mode: ModeHybridRerank})
	if len(r.saw) != defaultRerankTopN {
		t.Errorf("the reranker saw %d texts, want %d", len(r.saw), defaultRerankTopN)
	}
}

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

func TestTextTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}(same ends)?[ab]{0,2}-------[ab]{1,3}-------x{0,10}`), 1, 40).Draw(t, "texts")
		table, known := newTextTable(len(texts)), map[string]int{}
		for _, text := range texts {
			want, found := known[text]
			if !found {
				want = -1
			}
			got, key := table.find(text)
			if got != want {
				t.Fatalf("%q is %d, want %d", text, got, want)
			}
			if !found {
				known[text] = len(known)
				table.add(key, text)
			}
		}
	})
}
