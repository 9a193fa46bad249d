package search

import (
	"context"
	"evalctl/daemon/search/document"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
		scaled, err := unit(query)
		if err != nil {
			t.Fatal(err)
		}
		k := rapid.IntRange(1, 20).Draw(t, "k")
		checkNearest(t, ix, ix.nearest(scaled, anyDocument, k), want, k)
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
	scaled, err := unit(v)
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
		ix.vectors.grow(1)
		ix.vectors.set(n, randomVector(rng, dimension))
	}
	return ix, rng
}

// Several goroutines find the same as one.
func TestNearestInParallel(t *testing.T) {
	ix, rng := randomVectors(5*nearestRows/2, 8)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for range 20 {
		query := randomVector(rng, 8)
		want := ix.nearestOf(query, anyDocument, 50, 0, len(ix.chunks))
		got := ix.nearest(query, anyDocument, 50)
		scores := map[string]float64{}
		for _, c := range want {
			scores[ix.chunkID(c.chunk)] = c.score
		}
		checkNearest(t, ix, got, scores, 50)
	}
}

func TestVectorsAreFreed(t *testing.T) {
	ix := New(nil)
	s := NewSearcher(ix, Config{Embedder: &meanings{}})
	for i := range 4 * blockRows {
		ix.Put(document.Document{Path: fmt.Sprintf("%d.txt", i), Text: "cat"})
	}
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * blockRows {
		ix.Delete(fmt.Sprintf("%d.txt", i))
	}
	if v := &ix.vectors; v.count != blockRows || len(v.blocks) > 2 || len(v.known) > 2*blockRows {
		t.Errorf("%d vectors, %d blocks, %d rows left", v.count, len(v.blocks), len(v.known))
	}
}

func TestUnit(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := []struct {
		in, want []float32 // want is nil for an error
	}{
		{[]float32{3, 4}, []float32{0.6, 0.8}},
		{[]float32{1e-30, 0}, []float32{1, 0}},
		{[]float32{math.MaxFloat32, 0}, []float32{1, 0}},
		{[]float32{0, 0}, nil},
		{[]float32{}, nil},
		{[]float32{nan, 1}, nil},
		{[]float32{inf, 1}, nil},
	}
	for _, tt := range tests {
		got, err := unit(tt.in)
		if diff := gocmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("unit(%v) = %v, %v", tt.in, got, err)
		}
	}
}

// BenchmarkVectors compares 100,000 vectors of 384 dimensions with one, exactly, and a loop in
// plain Go over the same rows. B/row is the memory of a vector.
func BenchmarkVectors(b *testing.B) {
	const rows, dimension = 100_000, 384
	var before, after runtime.MemStats
	ix, rng := New(nil), rand.New(rand.NewPCG(3, 4))
	ix.chunks = make([]chunk, rows)
	doc := &entry{Document: document.Document{Path: "a.md"}}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range uint32(rows) {
		ix.chunks[n] = chunk{doc: doc, ordinal: n}
		ix.vectors.grow(1)
		ix.vectors.set(n, randomVector(rng, dimension))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	query := randomVector(rng, dimension)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			best := float32(0)
			for n := range uint32(rows) {
				sum := float32(0)
				for i, x := range ix.vectors.row(n) {
					sum += x * query[i]
				}
				best = max(best, sum)
			}
		}
	})
	b.Run("nearest", func(b *testing.B) {
		for b.Loop() {
			ix.nearest(query, anyDocument, defaultCandidateK)
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/rows, "B/row")
	})
}
