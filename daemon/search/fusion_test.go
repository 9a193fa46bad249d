package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"evalctl/internal/llm"
)

// The scores of a fusion follow the definition, computed from ranks alone.
func TestFuseProperties(t *testing.T) {
	ix, _ := randomVectors(30, 2)
	rapid.Check(t, func(t *rapid.T) {
		legs := make([]leg, rapid.IntRange(1, 3).Draw(t, "legs"))
		want := map[uint32]float64{}
		for i := range legs {
			weight := rapid.Float64Range(1e-5, 2).Draw(t, "weight")
			order := rapid.Permutation(numbers(30)).Draw(t, "order")[:rapid.IntRange(0, 30).Draw(t, "length")]
			legs[i].weight = weight
			for rank, n := range order {
				legs[i].candidates = append(legs[i].candidates, candidate{float64(-rank), n})
				want[n] += weight / (60 + float64(rank) + 1)
			}
		}
		got := ix.fuse(legs, false)
		if len(got) != len(want) {
			t.Fatalf("%d candidates, want %d", len(got), len(want))
		}
		for _, c := range got {
			if math.Abs(c.score-want[c.chunk]) > 1e-15 {
				t.Errorf("%d scores %v, want %v", c.chunk, c.score, want[c.chunk])
			}
		}
		if !slices.IsSortedFunc(got, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.chunk, b.chunk)) // paths are in the order of the numbers
		}) {
			t.Errorf("out of order: %v", got)
		}
	})
}

func numbers(n uint32) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// An embedder with the smallest weight adds to what words find and reorders none of it, however
// much the two disagree.
func TestAWeakEmbedderOnlyAdds(t *testing.T) {
	ix := New(nil)
	for i := range 30 {
		ix.Put(Document{Path: fmt.Sprintf("%02d.txt", i), Text: fmt.Sprintf("cat number%d%s", i, repeat(" filler", i))})
		ix.Put(Document{Path: fmt.Sprintf("kitten%02d.txt", i), Text: fmt.Sprintf("kitten kitten %d", i)})
	}
	s := NewSearcher(ix, Config{Embedder: weak{&meanings{}}})
	words, err := s.Search(t.Context(), Query{Text: "cat", Mode: ModeBM25, TopK: 60})
	if err != nil {
		t.Fatal(err)
	}
	both, err := s.Search(t.Context(), Query{Text: "cat", TopK: 60})
	if err != nil {
		t.Fatal(err)
	}
	if len(words.Hits) != 30 || len(both.Hits) != 60 || both.Mode != ModeHybrid {
		t.Fatalf("%d hits by words, %d in mode %s", len(words.Hits), len(both.Hits), both.Mode)
	}
	for i, h := range words.Hits {
		if both.Hits[i].ChunkID != h.ChunkID {
			t.Errorf("hit %d is %s, want %s", i, both.Hits[i].ChunkID, h.ChunkID)
		}
	}
}

// An embedder that recommends no weight has a fifth of the weight of the words.
func TestFusionWeightByDefault(t *testing.T) {
	s := NewSearcher(animals(), Config{Embedder: struct{ Embedder }{&meanings{}}})
	for _, h := range search(t, s, Query{Text: "cat", Mode: ModeHybrid}).Hits {
		want := 0.
		if rank := h.Components[componentBM25Rank]; rank > 0 {
			want += 1 / (60 + rank)
		}
		if rank := h.Components[componentVectorRank]; rank > 0 {
			want += .2 / (60 + rank)
		}
		if math.Abs(h.Score-want) > 1e-12 {
			t.Errorf("%s scores %v, want %v of %v", h.Path, h.Score, want, h.Components)
		}
	}
}

// weighed recommends its weight, which is not known if it is 0.
type weighed struct {
	Embedder
	weight float64
}

func (w weighed) FusionWeight() float64 { return w.weight }

// The configured weight takes precedence over the embedder's, and that over the default.
func TestFusionWeightIsChosen(t *testing.T) {
	plain := struct{ Embedder }{&meanings{}}
	for _, tt := range []struct {
		embedder         Embedder
		configured, want float64
	}{
		{plain, 0, defaultFusionWeight},
		{plain, 3, 3},
		{weighed{plain, 0}, 0, defaultFusionWeight},
		{weighed{plain, 0.5}, 0, 0.5},
		{weighed{plain, 0.5}, 3, 3},
		{llm.NewFakeEmbedder(), 0, 1e-5},
		{llm.NewEmbedCache(llm.NewFakeEmbedder()), 0, 1e-5},
		{llm.NewEmbedCache(plain), 0, defaultFusionWeight},
		{llm.NewEmbedCache(weighed{plain, 0.5}), 0, 0.5},
	} {
		s := NewSearcher(animals(), Config{Embedder: tt.embedder, FusionWeight: tt.configured})
		for _, h := range search(t, s, Query{Text: "cat", Mode: ModeHybrid}).Hits {
			want := 0.
			if rank := h.Components[componentBM25Rank]; rank > 0 {
				want += 1 / (60 + rank)
			}
			if rank := h.Components[componentVectorRank]; rank > 0 {
				want += tt.want / (60 + rank)
			}
			if math.Abs(h.Score-want) > 1e-12 {
				t.Errorf("%T, configured %v: %s scores %v, want %v", tt.embedder, tt.configured, h.Path, h.Score, want)
			}
		}
	}
}
