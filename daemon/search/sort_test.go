package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
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
		"":                       "abcdefg",
		SortRelevance:            "abcdefg",
		SortRecency:              "egdbfac",
		SortRelevanceThenRecency: "adbcegf",
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

// The most relevant hits are chosen before they are sorted by date.
func TestRecencyOrdersTheMostRelevant(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "1/best.txt", Text: "cat cat cat cat", Date: day(1)})
	ix.Put(document.Document{Path: "2/good.txt", Text: "cat cat and dogs", Date: day(2)})
	ix.Put(document.Document{Path: "3/weak.txt", Text: "cat and dogs and many more at sea and on the beach and far away on land", Date: day(3)})
	res, err := NewSearcher(ix, Config{}).Search(t.Context(), Query{Text: "cat", TopK: 2, Sort: SortRecency})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(paths(res), " "); got != "2/good.txt 1/best.txt" {
		t.Errorf("got %s", got)
	}
}

// Of equally relevant documents the newest come first, also if there are more than asked for.
func TestRelevanceThenRecencyChoosesTheNewest(t *testing.T) {
	ix := New(nil)
	for n := range 9 {
		ix.Put(document.Document{Path: fmt.Sprintf("%d/a.txt", n), Text: fmt.Sprintf("cat%d cat", n), Date: day(n + 1)})
	}
	for _, mode := range []Mode{ModeBM25, ModeHybrid, ModeSemantic} {
		res := search(t, NewSearcher(ix, Config{Embedder: &meanings{}}), Query{Text: "cat", TopK: 2, Sort: SortRelevanceThenRecency, Mode: mode})
		if got := strings.Join(paths(res), " "); got != "8/a.txt 7/a.txt" {
			t.Errorf("mode %s: got %s", mode, got)
		}
	}
}

// If the newest come first, a repeated text is as new as its last occurrence, in every mode.
func TestTheNewestRepresentsItsText(t *testing.T) {
	ix := New(nil)
	// No two are neighbours. The reranker gives all the same score.
	ix.Put(document.Document{Path: "1/a.txt", Title: "t", Text: "cat at the door", Date: day(1)})
	ix.Put(document.Document{Path: "2/a.txt", Title: "t", Text: "cat at the door", Date: day(6)})
	ix.Put(document.Document{Path: "3/a.txt", Title: "t", Text: "cat at the gate", Date: day(3)})
	ix.Put(document.Document{Path: "4/a.txt", Title: "t", Text: "cat at the door", Date: day(6)})
	ix.Put(document.Document{Path: "5/a.txt", Title: "t", Text: "cat at the door"})
	ix.Put(document.Document{Path: "6/a.txt", Title: "t cat", Text: "cat at the door", Date: day(2)}) // ranks first by words
	s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: &byLength{}})
	for _, tt := range []struct {
		mode Mode
		sort Sort
		want string
	}{
		{ModeBM25, SortRecency, "2 6145, 3"},
		{ModeHybrid, SortRecency, "2 6145, 3"},
		{ModeHybridRerank, SortRecency, "2 6145, 3"},
		{ModeBM25, SortRelevance, "6 1245, 3"},
		{ModeBM25, SortRelevanceThenRecency, "6 1245, 3"}, // the others are less relevant
	} {
		var got []string
		for _, h := range search(t, s, Query{Text: "cat", Mode: tt.mode, Sort: tt.sort}).Hits {
			line := h.Path[:1] + " "
			for _, d := range h.Duplicates {
				line += d.Path[:1]
			}
			got = append(got, strings.TrimSpace(line))
		}
		if line := strings.Join(got, ", "); line != tt.want {
			t.Errorf("mode %s by %s: %s, want %s", tt.mode, tt.sort, line, tt.want)
		}
	}
	ix.Delete("6/a.txt")
	for _, mode := range []Mode{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank} {
		for sort, want := range map[Sort]string{SortRecency: "2/a.txt 3/a.txt", SortRelevanceThenRecency: "2/a.txt 3/a.txt", SortRelevance: "1/a.txt 3/a.txt"} {
			if got := strings.Join(paths(search(t, s, Query{Text: "cat", Mode: mode, Sort: sort})), " "); got != want {
				t.Errorf("mode %s by %s: %s, want %s", mode, sort, got, want)
			}
		}
	}
}

// inScoreOrder reports whether sorting by score, ties by path, keeps the order of hits, so that a
// client that ranks by score keeps it too.
func inScoreOrder(hits []Hit) bool {
	return slices.IsSortedFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path))
	})
}

func TestSettle(t *testing.T) {
	scored := func(scores ...float64) []Hit {
		var hits []Hit
		for i, s := range scores {
			hits = append(hits, Hit{Path: string("cabdae"[i]), Score: s})
		}
		return hits
	}
	for _, scores := range [][]float64{
		nil, {1}, {3, 2, 1}, {3, 3, 3, 3}, {0, 0, 0, 0, 0}, {1, 1.000001, 1, 1.5}, {-2, -2, -7, -7}, {-1e300, -1e300, -1e300},
	} {
		hits := scored(scores...)
		SpreadTies(hits)
		if !inScoreOrder(hits) {
			t.Errorf("%v became %+v", scores, hits)
		}
		for i, h := range hits {
			lowest := slices.Min(scores[:i+1])
			if h.Score > scores[i] || h.Score < lowest-1e-9*max(1, math.Abs(lowest)) {
				t.Errorf("%v: score %d became %v", scores, i, h.Score)
			}
		}
	}
	hits := scored(3, 2, 2, 2)
	SpreadTies(hits)
	if hits[1].Score != 2 || hits[2].Score != 2 || hits[3].Score != 2 {
		t.Errorf("ties in the order of their paths became %+v", hits)
	}
}

// In every mode and every order by relevance, even if nearly all hits are equal, the order of the
// hits follows from their scores.
func TestScoresTellTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ix := New(nil)
		for i := range rapid.IntRange(2, 30).Draw(t, "documents") {
			folder := rapid.SampledFrom([]string{"b", "a", "c"}).Draw(t, "folder")
			ix.Put(document.Document{
				Path: fmt.Sprintf("%s/%02d.txt", folder, i),
				Text: rapid.SampledFrom([]string{"cat", "cat cat", "kitten", "dog"}).Draw(t, "text") + fmt.Sprintf(" word%d", i),
				Date: day(rapid.IntRange(1, 9).Draw(t, "day")),
			})
		}
		scores := rapid.SampledFrom([]float64{0, 7, -7, 1e6}).Draw(t, "score")
		s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: alike(scores)})
		q := Query{
			Text: "cat", TopK: 50, CandidateK: 40, RerankTopN: rapid.IntRange(1, 30).Draw(t, "reranked"),
			Mode: rapid.SampledFrom([]Mode{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank}).Draw(t, "mode"),
			Sort: rapid.SampledFrom([]Sort{SortRelevance, SortRelevanceThenRecency}).Draw(t, "sort"),
		}
		res, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if !inScoreOrder(res.Hits) {
			t.Errorf("mode %s: %+v", q.Mode, res.Hits)
		}
	})
}

// alike is a reranker that gives all texts the same score.
type alike float64

func (alike) Name() string { return "test/alike" }

func (a alike) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	return slices.Repeat([]float64{float64(a)}, len(texts)), nil
}
