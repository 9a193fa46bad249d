package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSortHits(t *testing.T) {
	hits := []Hit{
		{Path: "a", Score: 2, Date: day(1)},
		{Path: "b", Score: 1.000000001, Date: day(2)},
		{Path: "c", Score: 1},
		{Path: "d", Score: 0.9999999, Date: day(3)}, // 1.00000 in 6 digits
		{Path: "e", Score: 0.99999, Date: day(9)},
		{Path: "f", Score: -3, Date: day(2)},
		{Path: "g", Score: -3.0000001, Date: day(4)},
	}
	for by, want := range map[Sort]string{
		"":                   "abcdefg",
		Relevance:            "abcdefg",
		Recency:              "egdbfac",
		RelevanceThenRecency: "adbcegf",
	} {
		got := slices.Clone(hits)
		sortHits(got, by)
		var paths strings.Builder
		for _, h := range got {
			paths.WriteString(h.Path)
		}
		if paths.String() != want {
			t.Errorf("%q: %s, want %s", by, paths.String(), want)
		}
	}
}

// The most relevant are chosen before they are ordered by date.
func TestRecencyOrdersTheMostRelevant(t *testing.T) {
	ix := New(nil)
	ix.Put(Document{Path: "1/best.txt", Text: "cat cat cat cat", Date: day(1)})
	ix.Put(Document{Path: "2/good.txt", Text: "cat cat and dogs", Date: day(2)})
	ix.Put(Document{Path: "3/weak.txt", Text: "cat and dogs and many more at sea and on the beach and far away on land", Date: day(3)})
	res, err := NewSearcher(ix, Config{}).Search(t.Context(), Query{Text: "cat", TopK: 2, Sort: Recency})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(paths(res), " "); got != "2/good.txt 1/best.txt" {
		t.Errorf("got %s", got)
	}
}

// Of equally relevant documents the newest come first, also when there are more
// than asked for.
func TestRelevanceThenRecencyChoosesTheNewest(t *testing.T) {
	ix := New(nil)
	for n := range 9 {
		ix.Put(Document{Path: fmt.Sprintf("%d/a.txt", n), Text: fmt.Sprintf("cat%d cat", n), Date: day(n + 1)})
	}
	for _, mode := range []Mode{BM25, Hybrid, Semantic} {
		res := search(t, NewSearcher(ix, Config{Embedder: &meanings{}}), Query{Text: "cat", TopK: 2, Sort: RelevanceThenRecency, Mode: mode})
		if got := strings.Join(paths(res), " "); got != "8/a.txt 7/a.txt" {
			t.Errorf("mode %s: got %s", mode, got)
		}
	}
}
