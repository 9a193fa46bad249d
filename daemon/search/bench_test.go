package search

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// corpus draws words with the frequencies of natural language: the word of rank r is about 1/r as
// frequent as the first.
type corpus struct {
	words []string
	zipf  *rand.Zipf
	rng   *rand.Rand
}

func newCorpus() *corpus {
	rng := rand.New(rand.NewPCG(1, 2))
	syllables := strings.Fields("ka lo mi ne ru sa to vi du pe gan bor tel fin")
	v := &corpus{zipf: rand.NewZipf(rng, 1.08, 1, 59_999), rng: rng}
	v.words = strings.Fields("the of and to a in is it you that he was for on are with as i his they be at have this")
	for n := len(v.words); n < 60_000; n++ {
		word := ""
		for i := n; i > 0; i /= len(syllables) {
			word += syllables[i%len(syllables)]
		}
		v.words = append(v.words, word)
	}
	return v
}

func (v *corpus) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = v.words[v.zipf.Uint64()]
	}
	return strings.Join(words, " ")
}

func (v *corpus) documents(n int) []document.Document {
	docs := make([]document.Document, n)
	for i := range docs {
		docs[i] = document.Document{Path: fmt.Sprintf("d%d.md", i), Text: v.text(80 + v.rng.IntN(71))}
	}
	return docs
}

// BenchmarkPut measures the time to index one document of one chunk of 80 to 150 words, and to
// replace it. The limit finds the words and does nothing else.
func BenchmarkPut(b *testing.B) {
	docs := newCorpus().documents(5000)
	b.Run("limit", func(b *testing.B) {
		n := 0
		for b.Loop() {
			text := docs[n%len(docs)].Text
			for range language.Words(text) {
			}
			n++
		}
	})
	b.Run("new", func(b *testing.B) {
		ix, n := New(nil), 0
		for b.Loop() {
			d := docs[n%len(docs)]
			d.Path = fmt.Sprint(n)
			ix.Put(d)
			n++
		}
	})
	b.Run("replace", func(b *testing.B) {
		ix, n := New(nil), 0
		for _, d := range docs {
			ix.Put(d)
		}
		for b.Loop() {
			ix.Put(docs[n%len(docs)])
			n++
		}
	})
}

// large is an index of 100,000 chunks of 80 to 150 words, 80 MB of text, shared by the benchmarks.
var large = sync.OnceValue(func() (l struct {
	corpus *corpus
	docs   []document.Document
	index  *Index
}) {
	l.corpus = newCorpus()
	l.docs = l.corpus.documents(100_000)
	l.index = New(nil)
	l.index.Put(l.docs...)
	return l
})

// bm25 is the minimum that ranking by BM25 needs: one list of (chunk, tf) for each term, and one
// array of lengths. It has no fields, filters, deletions or ties.
type bm25 struct {
	lists   map[string][]uint64 // chunk<<32 | tf
	norms   []float64           // k1·(1-b+b·length/avg), by chunk
	scores  []float64
	touched []uint32
}

func newBM25(ix *Index) *bm25 {
	x := &bm25{lists: map[string][]uint64{}, norms: make([]float64, len(ix.chunks)), scores: make([]float64, len(ix.chunks))}
	total := float64(ix.total)
	for n := range ix.chunks {
		x.norms[n] = ix.k1 * (1 - ix.b + ix.b*float64(ix.chunks[n].length)*float64(ix.live)/total)
	}
	for t, p := range ix.postings {
		for i, n := range p.chunks {
			if tf := ix.tally(uint32(t), n, p.tallies[i])[textField]; tf > 0 {
				x.lists[ix.names[t]] = append(x.lists[ix.names[t]], uint64(n)<<32|uint64(tf))
			}
		}
	}
	return x
}

func (x *bm25) search(terms []string, k int) []candidate {
	for _, t := range terms {
		gain := idf(len(x.norms), len(x.lists[t])) * (defaultParameters.k1 + 1)
		for _, at := range x.lists[t] {
			chunk, tf := uint32(at>>32), float64(uint32(at))
			if x.scores[chunk] == 0 {
				x.touched = append(x.touched, chunk)
			}
			x.scores[chunk] += gain * tf / (tf + x.norms[chunk])
		}
	}
	top := make([]candidate, 0, k+1) // worst last
	for _, n := range x.touched {
		c := candidate{x.scores[n], n}
		x.scores[n] = 0
		if len(top) == k && c.score <= top[k-1].score {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, c, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
		top = slices.Insert(top, i, c)[:min(k, len(top)+1)]
	}
	x.touched = x.touched[:0]
	return top
}

// BenchmarkSearch100k asks an index of 100,000 chunks for its ten best. content: 3 to 6 words of
// one chunk. natural: the same in a question, with four of the 130 most frequent words. common: the
// six most frequent words that are not stop words. Each question is also answered by bm25, which is
// given the terms; x-limit is the ratio of the medians.
func BenchmarkSearch100k(b *testing.B) {
	v, ix := large().corpus, large().index
	limit, searcher := newBM25(ix), NewSearcher(ix, Config{})
	content := func() string {
		words := strings.Fields(large().docs[v.rng.IntN(len(large().docs))].Text)
		words = slices.DeleteFunc(words, func(w string) bool { return language.English.Term(w) == "" })
		v.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return strings.Join(words[:3+v.rng.IntN(4)], " ")
	}
	kinds := []struct {
		name string
		next func() string
	}{
		{"content", content},
		{"natural", func() string {
			return "What did I say about the " + content() + " when we " + strings.Join(v.words[30+v.rng.IntN(100):][:4], " ") + "?"
		}},
		{"common", func() string { return strings.Join(v.words[24:30], " ") }},
	}
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			var took, least []time.Duration
			for b.Loop() {
				q := Query{Text: kind.next()}
				start := time.Now()
				_, err := searcher.Search(b.Context(), q)
				took = append(took, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				terms := Terms(q.Text)
				start = time.Now()
				limit.search(terms, defaultTopK)
				least = append(least, time.Since(start))
			}
			b.ReportMetric(quantile(took, .5), "p50-µs")
			b.ReportMetric(quantile(took, .99), "p99-µs")
			b.ReportMetric(quantile(least, .5), "limit-p50-µs")
			b.ReportMetric(quantile(took, .5)/quantile(least, .5), "x-limit")
			b.ReportMetric(0, "ns/op") // the time of both together means nothing
		})
	}
}

// BenchmarkLongQuery asks an index of 100,000 chunks for its ten best with 500 words of text, about
// 250 different terms, in documents without a date and in turns of conversations, which have
// neighbours. The plain loop looks up every term.
func BenchmarkLongQuery(b *testing.B) {
	dated := slices.Clone(large().docs)
	for i := range dated {
		dated[i].Path = fmt.Sprintf("session-%04d/turn-%02d.md", i/40, i%40)
		dated[i].Date = time.Date(2024, 1, 1, 0, i/40, 0, 0, time.UTC)
	}
	turns := New(nil)
	turns.Put(dated...)
	limit := newBM25(large().index)
	for _, kind := range []struct {
		name  string
		index *Index
	}{{"undated", large().index}, {"turns", turns}} {
		b.Run(kind.name, func(b *testing.B) {
			searcher := NewSearcher(kind.index, Config{})
			var took, least []time.Duration
			for b.Loop() {
				q := Query{Text: large().corpus.text(500)}
				start := time.Now()
				_, err := searcher.Search(b.Context(), q)
				took = append(took, time.Since(start))
				if err != nil {
					b.Fatal(err)
				}
				terms := Terms(q.Text)
				start = time.Now()
				limit.search(terms, defaultTopK)
				least = append(least, time.Since(start))
			}
			b.ReportMetric(quantile(took, .5), "p50-µs")
			b.ReportMetric(quantile(took, .99), "p99-µs")
			b.ReportMetric(quantile(least, .5), "limit-p50-µs")
			b.ReportMetric(quantile(took, .5)/quantile(least, .5), "x-limit")
			b.ReportMetric(0, "ns/op") // the time of both together means nothing
		})
	}
}

// quantile returns a quantile in microseconds.
func quantile(took []time.Duration, q float64) float64 {
	slices.Sort(took)
	return float64(took[int(float64(len(took)-1)*q)].Nanoseconds()) / 1000
}

// BenchmarkOpen100k reads a snapshot of 100,000 chunks and answers one question. The limit reads
// the file and computes its checksum.
func BenchmarkOpen100k(b *testing.B) {
	name := filepath.Join(b.TempDir(), "snapshot")
	if err := os.WriteFile(name, snapshot(b, large().index), 0o600); err != nil {
		b.Fatal(err)
	}
	question := Query{Text: large().docs[7].Text[:60]}
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			crc32.Checksum(data, castagnoli())
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(name)
			if err != nil {
				b.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				b.Fatal(err)
			}
			ix, _, err := ReadSnapshot(f, info.Size(), nil)
			if err != nil {
				b.Fatal(err)
			}
			ix.Search(question)
			f.Close()
			b.SetBytes(info.Size())
		}
	})
	b.Run("build", func(b *testing.B) {
		docs := large().docs
		for b.Loop() {
			New(nil).Put(docs...)
		}
	})
}

// BenchmarkMemory100k reports the memory of an index of 100,000 chunks: the memory in use, the
// estimate of Bytes, and the size of the text alone.
func BenchmarkMemory100k(b *testing.B) {
	data := snapshot(b, large().index)
	for b.Loop() {
		before := heap()
		built, text := build100k()
		b.ReportMetric(float64(heap()-before)/(1<<20), "built-MiB")
		b.ReportMetric(float64(built.Bytes())/(1<<20), "Bytes-MiB")
		b.ReportMetric(float64(text)/(1<<20), "text-MiB")
		before = heap()
		read, err := readSnapshot(data, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "read-MiB")
		b.ReportMetric(0, "ns/op")
		runtime.KeepAlive(read)
		runtime.KeepAlive(built)
	}
}

func build100k() (ix *Index, text int) {
	docs := newCorpus().documents(100_000)
	for _, d := range docs {
		text += len(d.Text)
	}
	ix = New(nil)
	ix.Put(docs...)
	return ix, text
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // memory held by finalizers and pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
