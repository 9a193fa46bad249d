package search

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
	"evalctl/daemon/search/vector"
)

func anyDocument(*document.Document) bool { return true }

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// Whatever was put, replaced and deleted, and whenever it was embedded, every chunk is compared by
// the vector of its present text.
func TestNearestProperties(t *testing.T) {
	words := []string{"cat ", "kitten ", "dog ", "hound ", "sea ", "ocean ", "walks ", "\n\n# Sea\n", "\n\n# dog cat\n"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 30).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		ix := New(&Options{ChunkSize: 64})
		s := NewSearcher(ix, Config{Embedder: &meanings{}})
		docs := map[string]document.Document{}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			path := rapid.SampledFrom([]string{"a.md", "b.md", "c.txt", "d/e.md", "f.txt"}).Draw(t, "path")
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0:
				ix.Delete(path)
				delete(docs, path)
			case 1:
				if err := s.Prepare(context.Background()); err != nil {
					t.Fatal(err)
				}
			default:
				docs[path] = document.Document{Path: path, Title: "Sea", Text: text.Draw(t, "text")}
				ix.Put(docs[path])
			}
		}
		if err := s.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
		query := meaning(text.Draw(t, "query"))
		want := map[string]float64{}
		for _, d := range docs {
			for _, c := range document.Split(&d, 64) {
				if score := cosine(query, meaning(document.Passage(d.Title, c.Headings, c.Text))); score > 0 {
					want[document.ChunkID(d.Path, c.Ordinal)] = score
				}
			}
		}
		scaled, err := vector.Unit(query)
		if err != nil {
			t.Fatal(err)
		}
		k := rapid.IntRange(1, 20).Draw(t, "k")
		checkNearest(t, ix, ix.nearestIn(source{keep: anyDocument}, scaled, k), want, k)
	})
}

// checkNearest checks that got are the k best of want, in order.
func checkNearest(t errorer, ix *Index, got []candidate, want map[string]float64, k int) {
	if len(got) != min(k, len(want)) {
		t.Errorf("%d candidates, want %d of %v", len(got), k, want)
		return
	}
	const rounding = 1e-5
	for i, c := range got {
		id := ix.chunkID(c.chunk)
		if math.Abs(c.score-want[id]) > rounding {
			t.Errorf("%s scores %v, want %v", id, c.score, want[id])
		}
		if i > 0 && ix.compare(got[i-1], c) >= 0 {
			t.Errorf("%v before %v", got[i-1], c)
		}
		delete(want, id)
	}
	for id, score := range want {
		if score > got[len(got)-1].score+rounding {
			t.Errorf("%s scores %v and is missing", id, score)
		}
	}
}

func randomVector(rng *rand.Rand, dimension int) []float32 {
	v := make([]float32, dimension)
	for i := range v {
		v[i] = rng.Float32() - 0.5
	}
	scaled, err := vector.Unit(v)
	if err != nil {
		panic(err)
	}
	return scaled
}

// randomVectors is an index of chunks that have vectors but no text.
func randomVectors(rows, dimension int) (*Index, *rand.Rand) {
	ix, rng := New(nil), rand.New(rand.NewPCG(1, 2))
	for n := range uint32(rows) {
		doc := &entry{Document: document.Document{Path: fmt.Sprintf("%06d.md", n)}, first: n, count: 1}
		ix.chunks = append(ix.chunks, chunk{doc: doc})
		ix.vectors.Grow(1)
		ix.vectors.Set(n, randomVector(rng, dimension))
	}
	return ix, rng
}

// Deleted documents leave no vectors behind.
func TestVectorsAreFreed(t *testing.T) {
	ix := New(nil)
	s := NewSearcher(ix, Config{Embedder: &meanings{}})
	const many = 256
	for i := range many {
		ix.Put(document.Document{Path: fmt.Sprintf("%d.txt", i), Text: "cat"})
	}
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := ix.vectors.Bytes()
	for i := range 3 * many / 4 {
		ix.Delete(fmt.Sprintf("%d.txt", i))
	}
	if v := &ix.vectors; v.Settled() != many/4 || v.Bytes() > all/2+all/8 {
		t.Errorf("%d vectors take %d bytes, %d of them took %d", v.Settled(), v.Bytes(), many, all)
	}
}
