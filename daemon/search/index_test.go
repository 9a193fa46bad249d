package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Computed by hand from the formula at Index: n=3, avgdl=3, idf(cat)=ln 1.6,
// idf(dog)=ln(8/3).
func TestScores(t *testing.T) {
	ix := New(nil)
	ix.Put(Document{Path: "a.txt", Text: "cat cat dog"})
	ix.Put(Document{Path: "b.txt", Text: "cat bird"})
	ix.Put(Document{Path: "c.txt", Text: "fish fish fish fish"})
	tests := []struct {
		query string
		want  map[string]float64
	}{
		{"cat", map[string]float64{"a.txt#0": 0.646254990, "b.txt#0": 0.555918281}},
		{"the cats, the CAT", map[string]float64{"a.txt#0": 0.646254990, "b.txt#0": 0.555918281}},
		{"dog cat", map[string]float64{"a.txt#0": 1.627084243, "b.txt#0": 0.555918281}},
		{"fish", map[string]float64{"c.txt#0": 1.557995925}},
		{"the", nil},
		{"horse", nil},
	}
	for _, tt := range tests {
		res := ix.Search(Query{Text: tt.query})
		if len(res.Hits) != len(tt.want) || res.Hits == nil {
			t.Errorf("%q: %d hits, want %d", tt.query, len(res.Hits), len(tt.want))
		}
		for _, h := range res.Hits {
			if math.Abs(h.Score-tt.want[h.ChunkID]) > 1e-8 {
				t.Errorf("%q: %s scores %.9f, want %.9f", tt.query, h.ChunkID, h.Score, tt.want[h.ChunkID])
			}
		}
	}
}

func TestHit(t *testing.T) {
	ix := New(nil)
	doc, _ := Parse("notes/trip.md", []byte("---\ntitle: Großer Trip\ntags: [sea]\ndate: 2024-05-08\nmood: good\n---\n# Day 1\nÜber café, naïve CAFÉS.\n"))
	ix.Put(doc)
	want := Hit{
		ChunkID: "notes/trip.md#0", Path: "notes/trip.md", Title: "Großer Trip", HeadingPath: "Day 1",
		Text: "# Day 1\nÜber café, naïve CAFÉS.", Date: doc.Date, Tags: []string{"sea"},
		Metadata: map[string]any{"mood": "good"}, Highlights: []Span{{13, 17}, {25, 30}},
	}
	res := ix.Search(Query{Text: "Which cafe by the sea, cafes?"})
	if diff := gocmp.Diff([]string{"cafe", "sea"}, res.Terms); diff != "" {
		t.Errorf("terms differ (-want +got):\n%s", diff)
	}
	if len(res.Hits) != 1 {
		t.Fatalf("%d hits, want 1", len(res.Hits))
	}
	res.Hits[0].Score = 0
	if diff := gocmp.Diff(want, res.Hits[0]); diff != "" {
		t.Errorf("hit differs (-want +got):\n%s", diff)
	}
	for _, q := range []string{"grosser", "sea", "day"} {
		if len(ix.Search(Query{Text: q}).Hits) != 1 {
			t.Errorf("%q: not found by title, tag or heading", q)
		}
	}
}

func TestBefore(t *testing.T) {
	noon := time.Date(2024, 5, 8, 12, 0, 0, 0, time.UTC)
	ix := New(nil)
	ix.Put(Document{Path: "early.md", Text: "cat", Date: noon.Add(-time.Hour)})
	ix.Put(Document{Path: "late.md", Text: "cat", Date: noon.Add(time.Hour)})
	ix.Put(Document{Path: "noon.md", Text: "cat", Date: noon.In(time.FixedZone("", 3600))})
	ix.Put(Document{Path: "undated.md", Text: "cat"})
	tests := []struct {
		before time.Time
		want   []string
	}{
		{time.Time{}, []string{"early.md", "late.md", "noon.md", "undated.md"}},
		{noon, []string{"early.md", "noon.md", "undated.md"}},
		{noon.Add(-time.Second), []string{"early.md", "undated.md"}},
	}
	for _, tt := range tests {
		if got := paths(ix.Search(Query{Text: "cat", Before: tt.before})); !slices.Equal(got, tt.want) {
			t.Errorf("before %v: %v, want %v", tt.before, got, tt.want)
		}
	}
	if got := paths(ix.Search(Query{Text: "cat", Before: noon, TopK: 2})); !slices.Equal(got, []string{"early.md", "noon.md"}) {
		t.Errorf("before noon, top 2: %v; documents left out must not take places", got)
	}
}

func paths(res Result) []string {
	var out []string
	for _, h := range res.Hits {
		out = append(out, h.Path)
	}
	return out
}

func TestTies(t *testing.T) {
	ix := New(&Options{ChunkSize: 64})
	long := strings.Repeat("cat ", 16)
	for _, path := range []string{"c.txt", "a.txt", "b.txt"} {
		ix.Put(Document{Path: path, Text: strings.Repeat(long, 12)})
	}
	var want []string
	for _, path := range []string{"a.txt", "b.txt", "c.txt"} {
		for i := range 12 {
			want = append(want, fmt.Sprintf("%s#%d", path, i))
		}
	}
	for _, k := range []int{1, 7, 36, 100} {
		var got []string
		for _, h := range ix.Search(Query{Text: "cat", TopK: k}).Hits {
			got = append(got, h.ChunkID)
		}
		if diff := gocmp.Diff(want[:min(k, len(want))], got); diff != "" {
			t.Errorf("top %d differs (-want +got):\n%s", k, diff)
		}
	}
	if got := len(ix.Search(Query{Text: "cat"}).Hits); got != DefaultTopK {
		t.Errorf("%d hits without TopK, want %d", got, DefaultTopK)
	}
}

// naive scores every chunk from the definition, with nothing kept in between.
func naive(docs map[string]Document, size int, query string) map[string]float64 {
	chunks := map[string][]string{}
	total := 0
	for _, d := range docs {
		for _, c := range Split(d, size) {
			terms := append(Terms(c.Text), Terms(context(&d, c.HeadingPath))...)
			chunks[c.ID] = terms
			total += len(terms)
		}
	}
	scores := map[string]float64{}
	queryTerms := Terms(query)
	slices.Sort(queryTerms)
	for _, q := range slices.Compact(queryTerms) {
		df := 0
		for _, terms := range chunks {
			if slices.Contains(terms, q) {
				df++
			}
		}
		for id, terms := range chunks {
			tf := 0.0
			for _, t := range terms {
				if t == q {
					tf++
				}
			}
			if tf > 0 {
				n, dl, avgdl := float64(len(chunks)), float64(len(terms)), float64(total)/float64(len(chunks))
				idf := math.Log(1 + (n-float64(df)+0.5)/(float64(df)+0.5))
				scores[id] += idf * tf * (DefaultK1 + 1) / (tf + DefaultK1*(1-DefaultB+DefaultB*dl/avgdl))
			}
		}
	}
	return scores
}

// After any changes an index answers like one built from scratch and like the
// definition of BM25.
func TestIndexProperties(t *testing.T) {
	words := []string{"cat ", "cats ", "dog ", "the ", "sea. ", "Lisbon ", "naïve ", "猫", "it's ", "\n\n", "\n# Dog days\n", "\n## Sea\n"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 40).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		const size = 64
		ix := New(&Options{ChunkSize: size})
		docs := map[string]Document{}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			path := rapid.SampledFrom([]string{"a.md", "b.md", "c.txt", "d/e.md", "f.txt"}).Draw(t, "path")
			if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				ix.Delete(path)
				delete(docs, path)
				continue
			}
			doc := Document{Path: path, Text: text.Draw(t, "text"), Title: rapid.SampledFrom([]string{"", "Dog days", "cat"}).Draw(t, "title")}
			ix.Put(doc)
			docs[path] = doc
		}
		fresh := New(&Options{ChunkSize: size})
		for _, d := range docs {
			fresh.Put(d)
		}
		query := text.Draw(t, "query")
		all := ix.Search(Query{Text: query, TopK: 10_000})
		if diff := gocmp.Diff(fresh.Search(Query{Text: query, TopK: 10_000}), all); diff != "" {
			t.Errorf("differs from a fresh index (-fresh +got):\n%s", diff)
		}
		if ix.Len() != len(docs) {
			t.Errorf("%d documents, want %d", ix.Len(), len(docs))
		}
		checkScores(t, all.Hits, naive(docs, size, query))
		for _, h := range all.Hits {
			checkHighlights(t, h, all.Terms)
		}
		k := rapid.IntRange(1, 12).Draw(t, "k")
		if diff := gocmp.Diff(all.Hits[:min(k, len(all.Hits))], ix.Search(Query{Text: query, TopK: k}).Hits); diff != "" {
			t.Errorf("top %d is not the head of all (-want +got):\n%s", k, diff)
		}
	})
}

func checkScores(t errorer, hits []Hit, want map[string]float64) {
	if len(hits) != len(want) {
		t.Errorf("%d hits, want %d", len(hits), len(want))
	}
	for _, h := range hits {
		if math.Abs(h.Score-want[h.ChunkID]) > 1e-9 {
			t.Errorf("%s scores %v, want %v", h.ChunkID, h.Score, want[h.ChunkID])
		}
	}
	ordinal := func(h Hit) int { return len(h.ChunkID)*1000 + int(h.ChunkID[len(h.ChunkID)-1]) } // numbers below 100
	if !slices.IsSortedFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path), cmp.Compare(ordinal(a), ordinal(b)))
	}) {
		t.Errorf("hits are out of order: %+v", hits)
	}
}

// checkHighlights checks that exactly the words of the text that match a term
// are marked.
func checkHighlights(t errorer, h Hit, terms []string) {
	points := []rune(h.Text)
	var got, want []string
	for _, s := range h.Highlights {
		got = append(got, Terms(string(points[s.Start:s.End]))...)
	}
	for _, term := range Terms(h.Text) {
		if slices.Contains(terms, term) {
			want = append(want, term)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("highlights of %q for %q are %q, want %q", h.Text, terms, got, want)
	}
}

// Searches during changes see each document whole, before or after a change.
func TestConcurrentUse(t *testing.T) {
	ix := New(&Options{ChunkSize: 64})
	version := func(path string, v int) Document {
		return Document{Path: path, Title: fmt.Sprint("v", v), Text: strings.Repeat(fmt.Sprintf("cat version%d %s. ", v, path), 20)}
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 2 {
		writers.Go(func() {
			for v := range 100 {
				for n := range 3 {
					path := fmt.Sprintf("w%d/%d.md", w, n)
					if (v+n)%5 == 0 {
						ix.Delete(path)
					}
					ix.Put(version(path, v))
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				for _, h := range ix.Search(Query{Text: "cat", TopK: 50}).Hits {
					if want := "version" + strings.TrimPrefix(h.Title, "v"); !strings.Contains(h.Text, want) {
						t.Errorf("%s titled %s has the text %q", h.ChunkID, h.Title, h.Text)
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	fresh := New(&Options{ChunkSize: 64})
	for w := range 2 {
		for n := range 3 {
			fresh.Put(version(fmt.Sprintf("w%d/%d.md", w, n), 99))
		}
	}
	q := Query{Text: "cat version99", TopK: 100}
	if diff := gocmp.Diff(fresh.Search(q), ix.Search(q)); diff != "" {
		t.Errorf("differs from a fresh index (-fresh +got):\n%s", diff)
	}
}

// A long run of replacements neither grows the index nor loses anything.
func TestCompaction(t *testing.T) {
	ix := New(nil)
	for i := range 1000 {
		ix.Put(Document{Path: fmt.Sprintf("%d.md", i%10), Text: fmt.Sprintf("cat number%d", i)})
	}
	if len(ix.chunks) > 14 || len(ix.terms) > 16 {
		t.Errorf("%d chunks and %d terms are held for 10 documents", len(ix.chunks), len(ix.terms))
	}
	if got := len(ix.Search(Query{Text: "cat", TopK: 100}).Hits); got != 10 {
		t.Errorf("%d hits, want 10", got)
	}
	if len(ix.Search(Query{Text: "number989"}).Hits) != 0 || len(ix.Search(Query{Text: "number999"}).Hits) != 1 {
		t.Error("an old version is found, or a new one is not")
	}
}
