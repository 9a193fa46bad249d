package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/daemon/search/document"
	"evalctl/internal/awaittest"
)

// animals is an index in which words and meanings disagree. No two documents are neighbours.
func animals() *Index {
	ix := New(nil)
	for path, text := range map[string]string{
		"1/cat.txt":    "cat at home with nobody else around the house today",
		"2/kitten.txt": "kitten",
		"3/dog.txt":    "dog, hound, dog, hound, cat, cat",
		"4/sea.txt":    "ocean",
	} {
		ix.Put(document.Document{Path: path, Text: text})
	}
	return ix
}

func TestModes(t *testing.T) {
	full := Config{Embedder: &meanings{}, Reranker: &byLength{}}
	tests := []struct {
		cfg  Config
		mode Mode
		ran  Mode
		want []string
	}{
		{Config{}, "", ModeBM25, []string{"3/dog.txt", "1/cat.txt"}},
		{Config{}, ModeAuto, ModeBM25, []string{"3/dog.txt", "1/cat.txt"}},
		{full, ModeBM25, ModeBM25, []string{"3/dog.txt", "1/cat.txt"}},
		{full, ModeSemantic, ModeSemantic, []string{"2/kitten.txt", "1/cat.txt", "3/dog.txt"}},
		{full, "", ModeHybrid, []string{"2/kitten.txt", "1/cat.txt", "3/dog.txt"}},
		{full, ModeAuto, ModeHybrid, []string{"2/kitten.txt", "1/cat.txt", "3/dog.txt"}},
		{full, ModeHybrid, ModeHybrid, []string{"2/kitten.txt", "1/cat.txt", "3/dog.txt"}},
		{full, ModeHybridRerank, ModeHybridRerank, []string{"2/kitten.txt", "3/dog.txt", "1/cat.txt"}},
	}
	for _, tt := range tests {
		res := search(t, NewSearcher(animals(), tt.cfg), Query{Text: "cat", Mode: tt.mode})
		if diff := gocmp.Diff(tt.want, paths(res)); diff != "" || res.Mode != tt.ran || res.Degraded != "" {
			t.Errorf("mode %q ran %s %q (-want +got):\n%s", tt.mode, res.Mode, res.Degraded, diff)
		}
		if res.Explanation != nil {
			t.Errorf("mode %q is explained unasked", tt.mode)
		}
	}
}

func TestComponents(t *testing.T) {
	s := NewSearcher(animals(), Config{Embedder: &meanings{}, Reranker: &byLength{}, Fusion: FusionRRF})
	words := map[string]map[string]float64{} // the components of the scores of BM25
	for i, h := range s.index.Search(Query{Text: "cat"}).Hits {
		words[h.Path] = h.Components
		words[h.Path]["bm25_rank"] = float64(i + 1)
	}
	cat, kitten, dog := "1/cat.txt", "2/kitten.txt", "3/dog.txt"
	with := func(path string, more map[string]float64) map[string]float64 {
		maps.Copy(more, words[path])
		return more
	}
	catCosine, dogCosine := cosine(meaning("cat"), meaning("cat at home with nobody else around the house today")), 1/math.Sqrt(5)
	want := map[Mode]map[string]map[string]float64{
		ModeBM25: {dog: words[dog], cat: words[cat]},
		ModeSemantic: {
			kitten: {"vector": 1, "vector_rank": 1},
			cat:    {"vector": catCosine, "vector_rank": 2},
			dog:    {"vector": dogCosine, "vector_rank": 3},
		},
		ModeHybrid: {
			cat:    with(cat, map[string]float64{"vector": catCosine, "vector_rank": 2, "fusion": 2. / 62}),
			dog:    with(dog, map[string]float64{"vector": dogCosine, "vector_rank": 3, "fusion": 1./61 + 1./63}),
			kitten: {"vector": 1, "vector_rank": 1, "fusion": 1. / 61},
		},
		ModeHybridRerank: {
			kitten: {"vector": 1, "vector_rank": 1, "fusion": 1. / 61, "rerank": -6, "rerank_rank": 1},
			dog:    with(dog, map[string]float64{"vector": dogCosine, "vector_rank": 3, "fusion": 1./61 + 1./63, "rerank": -32, "rerank_rank": 2}),
			cat:    with(cat, map[string]float64{"vector": catCosine, "vector_rank": 2, "fusion": 2. / 62, "rerank": -51, "rerank_rank": 3}),
		},
	}
	for mode, byPath := range want {
		got := map[string]map[string]float64{}
		for _, h := range search(t, s, Query{Text: "cat", Mode: mode}).Hits {
			got[h.Path] = h.Components
			last := map[Mode]string{ModeSemantic: "vector", ModeHybrid: "fusion", ModeHybridRerank: "rerank"}[mode]
			if last != "" && h.Score != h.Components[last] {
				t.Errorf("mode %s: %s scores %v of %v", mode, h.Path, h.Score, h.Components)
			}
		}
		if diff := gocmp.Diff(byPath, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
			t.Errorf("mode %s (-want +got):\n%s", mode, diff)
		}
	}
}

func TestExplanation(t *testing.T) {
	s := NewSearcher(animals(), Config{Embedder: &meanings{}, Reranker: &byLength{}})
	want := map[Mode]string{
		ModeBM25:         "bm25: 3/dog.txt#0 1/cat.txt#0",
		ModeSemantic:     "vector: 2/kitten.txt#0 1/cat.txt#0",
		ModeHybrid:       "bm25: 3/dog.txt#0 1/cat.txt#0, vector: 2/kitten.txt#0 1/cat.txt#0, fusion: 1/cat.txt#0 2/kitten.txt#0",
		ModeHybridRerank: "bm25: 3/dog.txt#0 1/cat.txt#0, vector: 2/kitten.txt#0 1/cat.txt#0, fusion: 1/cat.txt#0 2/kitten.txt#0, rerank: 2/kitten.txt#0 1/cat.txt#0",
	}
	for mode, legs := range want {
		res := search(t, s, Query{Text: "the cat", Mode: mode, TopK: 1, CandidateK: 2, RerankTopN: 2, Explain: true})
		var got []string
		for _, l := range res.Explanation.Legs {
			line := l.Name + ":"
			for i, c := range l.Candidates {
				line += " " + c.ChunkID
				if i > 0 && c.Score > l.Candidates[i-1].Score {
					t.Errorf("mode %s: leg %s is out of order: %v", mode, l.Name, l.Candidates)
				}
			}
			got = append(got, line)
		}
		if strings.Join(got, ", ") != legs {
			t.Errorf("mode %s: %s, want %s", mode, strings.Join(got, ", "), legs)
		}
		if !slices.Equal(res.Explanation.Terms, []string{"cat"}) || len(res.Hits) != 1 {
			t.Errorf("mode %s: terms %q, %d hits", mode, res.Explanation.Terms, len(res.Hits))
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	full := Config{Embedder: &meanings{}, Reranker: &byLength{}}
	tests := []struct {
		cfg   Config
		query Query
		want  string
	}{
		{Config{Degrade: true}, Query{Mode: ModeSemantic}, "mode semantic: no embedder is configured"},
		{Config{Degrade: true}, Query{Mode: ModeHybrid}, "mode hybrid: no embedder is configured"},
		{Config{Reranker: &byLength{}}, Query{Mode: ModeHybridRerank}, "mode hybrid-rerank: no embedder is configured"},
		{Config{Embedder: &meanings{}, Degrade: true}, Query{Mode: ModeHybridRerank}, "mode hybrid-rerank: no reranker is configured"},
		{full, Query{Mode: "magic"}, `mode "magic" is unknown`},
		{full, Query{Sort: "random"}, `sort "random" is not one of relevance,`},
		{full, Query{Filter: Filter{Scope: "team"}}, `scope "team" is not one of all,`},
		{full, Query{TopK: -1}, "top_k -1"},
		{full, Query{CandidateK: -1}, "candidate_k -1"},
		{full, Query{CandidateK: 1001}, "candidate_k 1001"},
		{full, Query{RerankTopN: -1}, "rerank_top_n -1"},
		{full, Query{RerankTopN: 201}, "rerank_top_n 201"},
	}
	for _, tt := range tests {
		tt.query.Text = "cat"
		_, err := NewSearcher(animals(), tt.cfg).Search(t.Context(), tt.query)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.query, err, tt.want)
		}
	}
	_, err := NewSearcher(animals(), Config{}).Search(t.Context(), Query{Mode: ModeHybrid})
	if !errors.Is(err, ErrNoEmbedder) {
		t.Errorf("got %v", err)
	}
	_, err = NewSearcher(animals(), Config{Embedder: &meanings{}}).Search(t.Context(), Query{Mode: ModeHybridRerank})
	if !errors.Is(err, ErrNoReranker) {
		t.Errorf("got %v", err)
	}
}

// A model that fails is an error or, if Degrade is set, lowers the mode. Nothing else does.
func TestDegrade(t *testing.T) {
	broken := &meanings{before: func(context.Context, int64, []string) error { return errModel }}
	tests := []struct {
		mode          Mode
		embedder      Embedder
		rerankerFails bool
		ran           Mode   // with Degrade
		model         string // the model that failed; empty if none did
	}{
		{"", broken, false, ModeBM25, "test/meanings"},
		{ModeAuto, broken, false, ModeBM25, "test/meanings"},
		{ModeBM25, broken, true, ModeBM25, ""},
		{ModeSemantic, broken, false, ModeBM25, "test/meanings"},
		{ModeHybrid, broken, false, ModeBM25, "test/meanings"},
		{ModeHybridRerank, broken, false, ModeBM25, "test/meanings"},
		{ModeHybridRerank, broken, true, ModeBM25, "test/meanings"},
		{ModeHybridRerank, &meanings{}, true, ModeHybrid, "test/by-length"},
		{ModeHybrid, &meanings{}, true, ModeHybrid, ""},
		{ModeHybridRerank, &meanings{}, false, ModeHybridRerank, ""},
	}
	for _, tt := range tests {
		cfg := Config{Embedder: tt.embedder, Reranker: &byLength{}}
		if tt.rerankerFails {
			cfg.Reranker = &byLength{err: errModel}
		}
		name := fmt.Sprintf("%s with a reranker that fails: %v", tt.mode, tt.rerankerFails)
		_, err := NewSearcher(animals(), cfg).Search(t.Context(), Query{Text: "cat", Mode: tt.mode})
		failed, ok := errors.AsType[*ModelError](err)
		if tt.model == "" && err != nil || tt.model != "" && (!ok || failed.Model != tt.model || !errors.Is(err, errModel)) {
			t.Errorf("%s: error %v, want one of %q", name, err, tt.model)
		}

		cfg.Degrade = true
		s := NewSearcher(animals(), cfg)
		res := search(t, s, Query{Text: "cat", Mode: tt.mode})
		if res.Mode != tt.ran || (res.Degraded == "") != (tt.model == "") || !strings.Contains(res.Degraded, tt.model) {
			t.Errorf("%s: mode %s, degraded %q", name, res.Mode, res.Degraded)
		}
		lower := search(t, s, Query{Text: "cat", Mode: tt.ran})
		if lower.Degraded = res.Degraded; tt.ran != ModeHybridRerank {
			if diff := gocmp.Diff(lower, res); diff != "" {
				t.Errorf("%s: differs from mode %s (-want +got):\n%s", name, tt.ran, diff)
			}
		}
	}
}

func TestBadRepliesOfModels(t *testing.T) {
	nan := float32(math.NaN())
	ix := New(nil)
	ix.Put(document.Document{Path: "a.txt", Text: "cat"})
	for want, e := range map[string]Embedder{
		"0 vectors for 1 texts":                replies{},
		"2 vectors for 1 texts":                replies{{1}, {1}},
		"a vector of 2 numbers has length 0":   replies{{0, 0}},
		"a vector of 1 numbers has length NaN": replies{{nan}},
		"a vector of 0 numbers has length 0":   replies{{}},
	} {
		_, err := NewSearcher(ix, Config{Embedder: e}).Search(t.Context(), Query{Text: "cat"})
		if want = "search in mode hybrid: test/replies: " + want; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	scores := map[string][]float64{
		"1 scores for 3 texts":           {1},
		"the score of text 2 is NaN":     {1, math.NaN(), 2},
		"the score of text 3 is +Inf":    {1, 2, math.Inf(1)},
		"the score of text 1 is -2e+300": {-2e300, 1, 2},
	}
	for want, s := range scores {
		_, err := NewSearcher(animals(), Config{Embedder: &meanings{}, Reranker: fixed(s)}).Search(t.Context(), Query{Text: "cat", Mode: ModeHybridRerank})
		if want = "search in mode hybrid-rerank: test/fixed: " + want; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// fixed is a reranker that always returns the same scores.
type fixed []float64

func (fixed) Name() string { return "test/fixed" }

func (f fixed) Rerank(context.Context, string, []string) ([]float64, error) { return f, nil }

// An embedder that changes its number of dimensions between two calls is reported, and does no
// harm.
func TestDimensionsChange(t *testing.T) {
	ix := animals()
	e := &meanings{}
	s := NewSearcher(ix, Config{Embedder: changing{e}})
	_, err := s.Search(t.Context(), Query{Text: "cat"})
	if failed, ok := errors.AsType[*ModelError](err); !ok || failed.Error() != "test/meanings: a vector of 3 numbers, others have 4" {
		t.Errorf("got %v", err)
	}
}

// changing drops a dimension after its first call.
type changing struct{ *meanings }

func (c changing) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := c.meanings.Embed(ctx, texts)
	if c.calls.Load() > 1 {
		for i := range vectors {
			vectors[i] = vectors[i][1:]
		}
	}
	return vectors, err
}

// The reranker is given the title, headings and text of the first hits. The others follow in their
// order, and all scores descend.
func TestRerank(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "m.md", Title: "Pets", Text: "# Pets\n## Cats\ncat"})
	for i := range 9 {
		ix.Put(document.Document{Path: fmt.Sprintf("%d.txt", i), Text: "cat" + repeat(" filler", i)})
	}
	r := &byLength{}
	s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: r})
	fused := search(t, s, Query{Text: "cat", Mode: ModeHybrid})
	res := search(t, s, Query{Text: "cat", Mode: ModeHybridRerank, RerankTopN: 4, TopK: 8})
	if len(r.saw) != 4 || len(res.Hits) != 8 {
		t.Fatalf("saw %d texts for %d hits", len(r.saw), len(res.Hits))
	}
	if !slices.Equal(paths(res)[4:], paths(fused)[4:8]) {
		t.Errorf("behind the reranked: %q, want %q", paths(res)[4:], paths(fused)[4:8])
	}
	for i, h := range res.Hits {
		_, seen := h.Components[componentRerank]
		if seen != (i < 4) || i > 0 && h.Score > res.Hits[i-1].Score {
			t.Errorf("hit %d scores %v: %v", i, h.Score, h.Components)
		}
	}
	search(t, s, Query{Text: "cat", Mode: ModeHybridRerank})
	if want := "Pets\nCats\ncat"; !slices.Contains(r.saw, want) {
		t.Errorf("the reranker saw %q, want %q among them", r.saw, want)
	}
	r.saw = nil
	if res := search(t, s, Query{Text: "nothing", Mode: ModeHybridRerank, Filter: Filter{PathPrefix: "x"}}); len(res.Hits) != 0 || r.saw != nil {
		t.Errorf("%d hits, the reranker saw %q", len(res.Hits), r.saw)
	}
}

// Searches in every mode continue while documents are added and removed.
func TestSearchWhileWriting(t *testing.T) {
	ix := animals()
	s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: &byLength{}})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := range 200 {
				path := fmt.Sprintf("%d/%d.txt", w, i%20)
				ix.Put(document.Document{Path: path, Text: fmt.Sprintf("cat number %d", i)})
				if i%3 == 0 {
					ix.Delete(path)
				}
			}
		})
	}
	for _, mode := range []Mode{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank} {
		wg.Go(func() {
			for range 50 {
				res, err := s.Search(t.Context(), Query{Text: "cat", Mode: mode, TopK: 50, Explain: true})
				if err != nil || res.Mode != mode || len(res.Hits) == 0 {
					t.Errorf("mode %s: %d hits, %v", mode, len(res.Hits), err)
				}
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	found := 0
	for _, h := range search(t, s, Query{Text: "kitten", Mode: ModeSemantic, TopK: 100}).Hits {
		found += 1 + len(h.Duplicates) + h.MoreDuplicates
	}
	if found != ix.Len()-1 { // all but the sea
		t.Errorf("found %d of %d documents", found, ix.Len())
	}
}
