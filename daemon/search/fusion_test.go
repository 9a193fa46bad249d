package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
	"evalctl/internal/llm"
)

// legsOf draws the two rankings of a fusion over an index of n chunks.
func legsOf(t *rapid.T, n uint32) (words, near []candidate) {
	draw := func(name string) []candidate {
		order := rapid.Permutation(numbers(n)).Draw(t, name)[:rapid.IntRange(0, int(n)).Draw(t, name+" length")]
		found := make([]candidate, len(order))
		for i, chunk := range order {
			found[i] = candidate{rapid.Float64Range(.001, 1).Draw(t, name+" score"), chunk}
		}
		slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
		return found
	}
	return draw("words"), draw("near")
}

func numbers(n uint32) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// The scores of a fusion of ranks follow the definition, computed from ranks alone.
func TestFuseRanksProperties(t *testing.T) {
	ix, _ := randomVectors(30, 2)
	rapid.Check(t, func(t *rapid.T) {
		words, near := legsOf(t, 30)
		weight := rapid.Float64Range(1e-5, 2).Draw(t, "weight")
		want := map[uint32]float64{}
		for i, c := range words {
			want[c.chunk] += 1 / float64(61+i)
		}
		for i, c := range near {
			want[c.chunk] += weight / float64(61+i)
		}
		got := ix.fuseRanks(weight, words, near, false)
		if len(got) != len(want) {
			t.Fatalf("%d candidates, want %d", len(got), len(want))
		}
		for _, c := range got {
			if math.Abs(c.score-want[c.chunk]) > 1e-15 {
				t.Errorf("%d scores %v, want %v", c.chunk, c.score, want[c.chunk])
			}
		}
		checkSorted(t, got)
	})
}

// checkSorted reports candidates of randomVectors, whose paths are in the order of their numbers,
// that are out of order.
func checkSorted(t errorer, got []candidate) {
	if !slices.IsSortedFunc(got, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.chunk, b.chunk))
	}) {
		t.Errorf("out of order: %v", got)
	}
}

// scaledBy returns the candidates with other scores.
func scaledBy(candidates []candidate, f func(float64) float64) []candidate {
	out := slices.Clone(candidates)
	for i := range out {
		out[i].score = f(out[i].score)
	}
	return out
}

// cosinesOf draws a cosine for most of the chunks that only words found, and takes those of near.
func cosinesOf(t *rapid.T, words, near []candidate) map[uint32]float64 {
	cosines := map[uint32]float64{}
	for _, c := range words {
		if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
			cosines[c.chunk] = rapid.Float64Range(-1, 0).Draw(t, "cosine")
		}
	}
	for _, c := range near {
		cosines[c.chunk] = c.score
	}
	return cosines
}

// The fusion of scores depends neither on the unit of the scores by words nor on that of the
// cosines and their zero. A chunk that is at least as good as another in both rankings, and better
// in one, is before it.
func TestFuseScoresProperties(t *testing.T) {
	ix, _ := randomVectors(30, 2)
	rapid.Check(t, func(t *rapid.T) {
		words, near := legsOf(t, 30)
		cosines := cosinesOf(t, words, near)
		weight := rapid.Float64Range(.01, 10).Draw(t, "weight")
		got := ix.fuseScores(weight, words, near, cosines)
		checkSorted(t, got)

		unit, stretch := rapid.Float64Range(.1, 50).Draw(t, "unit"), rapid.Float64Range(.1, 50).Draw(t, "stretch")
		zero := rapid.Float64Range(-5, 5).Draw(t, "zero")
		if s := rangeOf(cosines); s < equalCosines != (stretch*s < equalCosines) {
			t.Skip("cosines that are equal in one of the units only")
		}
		affine := func(x float64) float64 { return zero + stretch*x }
		moved := map[uint32]float64{}
		for n, c := range cosines {
			moved[n] = affine(c)
		}
		again := ix.fuseScores(weight, scaledBy(words, func(x float64) float64 { return unit * x }), scaledBy(near, affine), moved)
		scores := map[uint32]float64{}
		for _, c := range again {
			scores[c.chunk] = c.score
		}
		for _, c := range got {
			if !agree(scores[c.chunk], c.score) {
				t.Errorf("%d scores %v, with other units %v", c.chunk, c.score, scores[c.chunk])
			}
		}

		word := map[uint32]float64{}
		for _, c := range words {
			word[c.chunk] = c.score
		}
		for i, a := range got {
			for _, b := range got[:i] { // b is before a
				cosA, okA := cosines[a.chunk]
				cosB, okB := cosines[b.chunk]
				if okA && okB && word[a.chunk] >= word[b.chunk] && cosA >= cosB && a.score < b.score-1e-12 {
					t.Errorf("%v is below %v, but not worse by words (%v, %v) or by cosine (%v, %v)",
						a, b, word[a.chunk], word[b.chunk], cosA, cosB)
				}
			}
		}
	})
}

// rangeOf returns the difference between the largest and the smallest cosine.
func rangeOf(cosines map[uint32]float64) float64 {
	values := slices.Sorted(maps.Values(cosines))
	if len(values) == 0 {
		return 0
	}
	return values[len(values)-1] - values[0]
}

func agree(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

// A chunk that words rate higher, all else equal, never falls behind another.
func TestFuseScoresIsMonotoneInWords(t *testing.T) {
	ix, _ := randomVectors(20, 2)
	rapid.Check(t, func(t *rapid.T) {
		words, near := legsOf(t, 20)
		if len(words) == 0 {
			return
		}
		cosines := cosinesOf(t, words, near)
		raised := words[rapid.IntRange(0, len(words)-1).Draw(t, "raised")].chunk
		place := func(words []candidate) int {
			fused := ix.fuseScores(.3, words, near, cosines)
			return slices.IndexFunc(fused, func(c candidate) bool { return c.chunk == raised })
		}
		before := place(words)
		better := slices.Clone(words)
		for i := range better {
			if better[i].chunk == raised {
				better[i].score += rapid.Float64Range(.01, 1).Draw(t, "by")
			}
		}
		slices.SortFunc(better, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
		if after := place(better); after > before {
			t.Errorf("%d falls from place %d to %d", raised, before, after)
		}
	})
}

// A ranking that says nothing, because it is empty or all its scores are equal, changes nothing.
func TestFuseScoresIgnoresWhatSaysNothing(t *testing.T) {
	ix, _ := randomVectors(20, 2)
	order := func(candidates []candidate) (chunks []uint32) {
		for _, c := range candidates {
			chunks = append(chunks, c.chunk)
		}
		return chunks
	}
	rapid.Check(t, func(t *rapid.T) {
		words, near := legsOf(t, 20)
		slices.SortFunc(words, ix.compare)
		slices.SortFunc(near, ix.compare)
		weight := rapid.Float64Range(.01, 10).Draw(t, "weight")
		cosines := cosinesOf(t, nil, near)
		if got := ix.fuseScores(weight, nil, near, cosines); !slices.Equal(order(got), order(near)) {
			t.Errorf("without words %v, want %v", got, near)
		}
		if got := ix.fuseScores(weight, words, nil, nil); !slices.Equal(order(got), order(words)) {
			t.Errorf("without vectors %v, want %v", got, words)
		}
		// Equal up to rounding.
		equal := map[uint32]float64{}
		for _, c := range words {
			equal[c.chunk] = .7 + rapid.Float64Range(0, 1e-7).Draw(t, "rounding")
		}
		if got := ix.fuseScores(weight, words, nil, equal); !slices.Equal(order(got), order(words)) {
			t.Errorf("with equal cosines %v, want %v", got, words)
		}
		all := append(slices.Clone(words), near...)
		for i := range all {
			all[i] = candidate{3, uint32(i)}
		}
		all = all[:min(20, len(all))]
		vary := map[uint32]float64{}
		for _, c := range all {
			vary[c.chunk] = rapid.Float64Range(-1, 1).Draw(t, "cosine")
		}
		want := make([]candidate, len(all))
		for i, c := range all {
			want[i] = candidate{vary[c.chunk], c.chunk}
		}
		slices.SortFunc(want, ix.compare)
		got := ix.fuseScores(weight, all, nil, vary)
		for i := 1; i < len(got); i++ { // sums may round a difference away
			if vary[got[i-1].chunk] < vary[got[i].chunk]-1e-5 {
				t.Errorf("with equal scores by words %v, want %v", got, want)
			}
		}
	})
}

// The cases that the definition names, computed by hand.
func TestFuseScores(t *testing.T) {
	ix, _ := randomVectors(5, 2)
	for _, tt := range []struct {
		name        string
		words, near []candidate
		cosines     map[uint32]float64
		want        []candidate
	}{
		{
			// The mean is 0.5 and the largest 0.9; chunk 2 is found by vectors only.
			"both", []candidate{{8, 0}, {4, 1}}, []candidate{{.9, 1}, {.5, 2}},
			map[uint32]float64{0: .1, 1: .9, 2: .5},
			[]candidate{{1, 1}, {.5, 0}, {0, 2}},
		},
		{
			// The mean of the known is 0.7.
			"no vector", []candidate{{8, 0}, {4, 1}}, []candidate{{.9, 1}, {.5, 2}},
			map[uint32]float64{1: .9, 2: .5},
			[]candidate{{1, 0}, {1, 1}, {-.5, 2}},
		},
		{"one candidate", []candidate{{8, 0}}, nil, map[uint32]float64{0: .3}, []candidate{{1, 0}}},
		{"one by vectors", nil, []candidate{{.3, 0}}, map[uint32]float64{0: .3}, []candidate{{0, 0}}},
		{"nothing embedded", []candidate{{8, 0}, {2, 3}}, nil, nil, []candidate{{1, 0}, {.25, 3}}},
		{"nothing", nil, nil, nil, []candidate{}},
	} {
		got := ix.fuseScores(.5, tt.words, tt.near, tt.cosines)
		if !slices.EqualFunc(got, tt.want, func(a, b candidate) bool {
			return a.chunk == b.chunk && math.Abs(a.score-b.score) < 1e-12
		}) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A hybrid is the fusion of what the index found: with the components of a hit, its score can be
// computed again.
func TestHybridScoresAddUp(t *testing.T) {
	for _, f := range []Fusion{"", FusionScore, FusionRRF} {
		s := NewSearcher(animals(), Config{Embedder: &meanings{}, Fusion: f, FusionWeight: .5})
		res := search(t, s, Query{Text: "cat dog", Mode: ModeHybrid})
		if want := (FusionRun{cmp.Or(f, FusionScore), .5}); res.Fusion == nil || *res.Fusion != want {
			t.Errorf("%q reports %v, want %v", f, res.Fusion, want)
		}
		best, sum, highest := 0., 0., math.Inf(-1)
		for _, h := range res.Hits {
			best = max(best, WordScore(h))
			sum, highest = sum+h.Components[componentVector], max(highest, h.Components[componentVector])
		}
		for _, h := range res.Hits {
			average := sum / float64(len(res.Hits))
			want := WordScore(h)/best + .5*(h.Components[componentVector]-average)/(highest-average)
			if f == FusionRRF {
				want = reciprocal(h, componentBM25Rank, 1) + reciprocal(h, componentVectorRank, .5)
			}
			if math.Abs(h.Score-want) > 1e-9 {
				t.Errorf("%q: %s scores %v, want %v of %v", f, h.Path, h.Score, want, h.Components)
			}
		}
	}
	if res := search(t, NewSearcher(animals(), Config{}), Query{Text: "cat"}); res.Fusion != nil {
		t.Errorf("bm25 reports the fusion %v", res.Fusion)
	}
}

// A fusion of scores compares every candidate that has a vector, also one that only words found.
func TestFusionComparesWhatOnlyWordsFound(t *testing.T) {
	ix, rng := randomVectors(3, 2)
	query := randomVector(rng, 2)
	cosines := ix.cosines(query, []candidate{{2, 0}, {1, 1}}, []candidate{{.25, 2}})
	if want := ix.vectors.Cosine(query, 1); len(cosines) != 3 || cosines[1] != want || cosines[2] != .25 {
		t.Errorf("%v, want %v of chunk 1 and 0.25 of chunk 2", cosines, want)
	}
	ix.vectors.Remove(1)
	if cosines = ix.cosines(query, []candidate{{1, 1}}, nil); len(cosines) != 0 {
		t.Errorf("%v for a chunk without a vector", cosines)
	}
}

func reciprocal(h Hit, rank string, weight float64) float64 {
	if r := h.Components[rank]; r > 0 {
		return weight / (60 + r)
	}
	return 0
}

// An embedder with the smallest weight adds to what words find and reorders none of it, however
// much the two disagree.
func TestAWeakEmbedderOnlyAdds(t *testing.T) {
	ix := New(nil)
	for i := range 30 {
		ix.Put(document.Document{Path: fmt.Sprintf("%02d.txt", i), Text: fmt.Sprintf("cat number%d%s", i, repeat(" filler", i))})
		ix.Put(document.Document{Path: fmt.Sprintf("kitten%02d.txt", i), Text: fmt.Sprintf("kitten kitten %d", i)})
	}
	for _, f := range []Fusion{FusionScore, FusionRRF} {
		s := NewSearcher(ix, Config{Embedder: weak{&meanings{}}, Fusion: f})
		words, err := s.Search(t.Context(), Query{Text: "cat", Mode: ModeBM25, TopK: 60})
		if err != nil {
			t.Fatal(err)
		}
		both, err := s.Search(t.Context(), Query{Text: "cat", TopK: 60})
		if err != nil {
			t.Fatal(err)
		}
		if len(words.Hits) != 30 || len(both.Hits) != 60 || both.Mode != ModeHybrid {
			t.Fatalf("%s: %d hits by words, %d in mode %s", f, len(words.Hits), len(both.Hits), both.Mode)
		}
		for i, h := range words.Hits {
			if both.Hits[i].ChunkID != h.ChunkID {
				t.Errorf("%s: hit %d is %s, want %s", f, i, both.Hits[i].ChunkID, h.ChunkID)
			}
		}
	}
}

// weighed recommends its weight, which is not known if it is 0.
type weighed struct {
	Embedder
	weight float64
}

func (w weighed) FusionWeight() float64 { return w.weight }

// The configured weight takes precedence over the embedder's, and that over the default of the
// fusion.
func TestFusionWeightIsChosen(t *testing.T) {
	plain := struct{ Embedder }{&meanings{}}
	for _, f := range []Fusion{"", FusionScore, FusionRRF} {
		for _, tt := range []struct {
			embedder         Embedder
			configured, want float64
		}{
			{plain, 0, defaultFusionWeights[cmp.Or(f, FusionScore)]},
			{plain, 3, 3},
			{weighed{plain, 0}, 0, defaultFusionWeights[cmp.Or(f, FusionScore)]},
			{weighed{plain, 0.5}, 0, 0.5},
			{weighed{plain, 0.5}, 3, 3},
			{llm.NewFakeEmbedder(), 0, 1e-5},
			{llm.NewEmbedCache(llm.NewFakeEmbedder()), 0, 1e-5},
			{llm.NewEmbedCache(plain), 0, defaultFusionWeights[cmp.Or(f, FusionScore)]},
			{llm.NewEmbedCache(weighed{plain, 0.5}), 0, 0.5},
		} {
			s := NewSearcher(animals(), Config{Embedder: tt.embedder, Fusion: f, FusionWeight: tt.configured})
			got := search(t, s, Query{Text: "cat", Mode: ModeHybrid}).Fusion
			if got == nil || got.Weight != tt.want {
				t.Errorf("%q, %T, configured %v: %v, want %v", f, tt.embedder, tt.configured, got, tt.want)
			}
		}
	}
}
