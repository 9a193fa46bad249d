package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
)

// Approximate scores choose the same chunks as exact ones, with the same scores to the last bit: of
// many equal ones, of deleted and long texts, and whatever a filter leaves.
func TestRoughScores(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"cat", "dog", "sea", "owl", "fox", "elk"}), 1, 12).Draw(t, "words")
		return strings.Repeat(strings.Join(words, " ")+" ", rapid.SampledFrom([]int{1, 1, 1, 3, 60}).Draw(t, "times"))
	})
	rapid.Check(t, func(t *rapid.T) {
		ix := New(nil)
		texts := rapid.SliceOfN(text, 1, 5).Draw(t, "texts")
		n := rapid.IntRange(1, 150).Draw(t, "documents")
		for i := range n {
			doc := document.Document{Path: fmt.Sprintf("%d.txt", (i*7919)%n), Text: texts[i%len(texts)], Generated: i%11 == 3}
			if i%3 == 0 {
				doc.Title = "owl dog"
			}
			ix.Put(doc)
		}
		for i := range rapid.IntRange(0, n/5).Draw(t, "deleted") {
			ix.Delete(fmt.Sprintf("%d.txt", i*3))
		}
		query := ix.known(ix.queryTerms(text.Draw(t, "query")))
		k := rapid.IntRange(1, 40).Draw(t, "k")
		keep := rapid.SampledFrom([]func(*document.Document) bool{
			nil, func(*document.Document) bool { return true }, func(d *document.Document) bool { return d.Path < "3" },
		}).Draw(t, "keep")

		s := &scratch{}
		ix.score(&s.scores, query)
		var want []candidate
		for n, score := range s.scores.sums {
			doc := ix.chunks[n].doc
			if score > 0 && doc != nil && (keep == nil && !doc.Generated || keep != nil && keep(&doc.Document)) {
				want = append(want, candidate{score, uint32(n)})
			}
		}
		slices.SortFunc(want, ix.compare)
		want = want[:min(k, len(want))]
		for range 2 { // the second search finds the scratch as the first left it
			got := ix.exact(s, query, s.rough.likely(ix, &s.levels, query, keep, k))
			s.levels.sort(got, ix.compare)
			if got = got[:min(k, len(got))]; !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// The levels sort and split as a sort by comparison does.
func TestLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(1e-8, 1e-7), rapid.Float64Range(1, 100), rapid.Just(7.)), 1, 400).Draw(t, "scores")
		all := make([]candidate, len(scores))
		for i, score := range scores {
			all[i] = candidate{score, uint32(i)}
		}
		compare := func(a, b candidate) int {
			switch {
			case a.score > b.score:
				return -1
			case a.score < b.score:
				return 1
			}
			return int(a.chunk) - int(b.chunk)
		}
		want := slices.SortedFunc(slices.Values(all), compare)
		k := rapid.IntRange(1, 100).Draw(t, "k")
		var l levels
		front, rest := l.split(slices.Clone(all), k)
		if len(front) < min(k, len(all)) || len(front)+len(rest) != len(all) {
			t.Fatalf("a front of %d and a rest of %d of %d", len(front), len(rest), len(all))
		}
		l.sort(front, compare)
		if !slices.Equal(front[:min(k, len(all))], want[:min(k, len(all))]) {
			t.Fatal("the front lacks some of the best")
		}
		for _, c := range rest {
			if c.score >= front[len(front)-1].score {
				t.Fatal("the rest has one as good as the front")
			}
		}
		if l.sort(all, compare); !slices.Equal(all, want) {
			t.Fatal("sorted wrongly")
		}
	})
}

func TestNumberSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		highest := rapid.SampledFrom([]uint32{5, 1000, 1 << 20}).Draw(t, "highest")
		list := rapid.SliceOfNDistinct(rapid.Uint32Range(0, highest), 1, 6, rapid.ID).Draw(t, "numbers")
		want := slices.Sorted(slices.Values(list))
		var set numberSet
		if set.sort(list); !slices.Equal(list, want) {
			t.Fatalf("sorted to %v, want %v", list, want)
		}
		for _, word := range set {
			if word != 0 {
				t.Fatal("the set is not empty afterwards")
			}
		}
	})
}
