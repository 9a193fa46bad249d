package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// corpus draws words with the frequencies of language: the word of rank r
// about 1/r as often as the first.
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

func (v *corpus) documents(n int) []Document {
	docs := make([]Document, n)
	for i := range docs {
		docs[i] = Document{Path: fmt.Sprintf("d%d.md", i), Text: v.text(80 + v.rng.IntN(71))}
	}
	return docs
}

// BenchmarkPut gives the time to index one document of one chunk of 80 to 150
// words, and to replace it. The limit is finding its words and nothing else.
func BenchmarkPut(b *testing.B) {
	docs := newCorpus().documents(5000)
	b.Run("limit", func(b *testing.B) {
		n := 0
		for b.Loop() {
			text := docs[n%len(docs)].Text
			for start, end := nextWord(text, 0); end > start; start, end = nextWord(text, end) {
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

// BenchmarkSearch asks an index of 100,000 chunks for its ten best. content: 3
// to 6 words of one chunk. natural: the same words in a question. common: the
// most frequent words that are not stop words.
func BenchmarkSearch(b *testing.B) {
	v := newCorpus()
	docs := v.documents(100_000)
	ix := New(nil)
	for _, d := range docs {
		ix.Put(d)
	}
	content := func() string {
		words := strings.Fields(docs[v.rng.IntN(len(docs))].Text)
		words = slices.DeleteFunc(words, func(w string) bool { return stopWords[w] })
		v.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return strings.Join(words[:3+v.rng.IntN(4)], " ")
	}
	kinds := []struct {
		name string
		next func() string
	}{
		{"content", content},
		{"natural", func() string { return "What did I say about the " + content() + " when we met?" }},
		{"common", func() string { return strings.Join(v.words[24:30], " ") }},
	}
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				q := Query{Text: kind.next()}
				start := time.Now()
				ix.Search(q)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
