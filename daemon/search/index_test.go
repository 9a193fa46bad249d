package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/daemon/search/document"
	"evalctl/internal/awaittest"
)

// Computed by hand from the formula at score: n=3, average=3, norm=1 for a.txt, 12/13 for my.txt
// and 27/26 for the.txt, of whose 14/13 what is beyond 1 counts half, idf(cat)=ln 1.6,
// idf(dog)=ln(8/3). The paths are stop words.
func TestScores(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "a.txt", Text: "cat cat dog"})
	ix.Put(document.Document{Path: "my.txt", Text: "cat bird"})
	ix.Put(document.Document{Path: "the.txt", Text: "fish fish fish fish"})
	tests := []struct {
		query string
		want  map[string]float64
	}{
		{"cat", map[string]float64{"a.txt#0": 0.678894131, "my.txt#0": 0.493357847}},
		// A term that the query has twice counts (8+1)·2/(8+2) times, not twice.
		{"the cats, the CAT", map[string]float64{"a.txt#0": 1.8 * 0.678894131, "my.txt#0": 1.8 * 0.493357847}},
		{"dog cat", map[string]float64{"a.txt#0": 1.659723384, "my.txt#0": 0.493357847}},
		{"fish", map[string]float64{"the.txt#0": 1.801740693}},
		{"the", nil},
		{"horse", nil},
	}
	for _, tt := range tests {
		res := ix.Search(Query{Text: tt.query})
		if len(res.Hits) != len(tt.want) || res.Hits == nil {
			t.Errorf("%q: %d hits, want %d", tt.query, len(res.Hits), len(tt.want))
		}
		for _, h := range res.Hits {
			if got := h.Components[componentBM25]; math.Abs(got-tt.want[h.ChunkID]) > 1e-8 {
				t.Errorf("%q: %s scores %.9f, want %.9f", tt.query, h.ChunkID, got, tt.want[h.ChunkID])
			}
		}
	}
}

func TestHit(t *testing.T) {
	ix := New(nil)
	doc, _ := document.Parse("notes/trip.md", "---\ntitle: Großer Trip\ntags: [sea]\ndate: 2024-05-08\nmood: good\n---\n# Day 1\nÜber café, naïve CAFÉS.\n")
	ix.Put(doc)
	want := Hit{
		ChunkID: "notes/trip.md#0", Path: "notes/trip.md", Title: "Großer Trip", HeadingPath: "Day 1",
		Text: "# Day 1\nÜber café, naïve CAFÉS.", Date: doc.Date, Tags: []string{"sea"},
		Metadata: map[string]any{"mood": "good"}, Highlights: []Span{{13, 17}, {25, 30}},
	}
	const query = "Which cafe by the sea, cafes?"
	res := ix.Search(Query{Text: query})
	terms := Terms(query)
	if diff := gocmp.Diff([]string{"cafe", "sea"}, terms); diff != "" {
		t.Errorf("terms differ (-want +got):\n%s", diff)
	}
	if len(res.Hits) != 1 {
		t.Fatalf("%d hits, want 1", len(res.Hits))
	}
	res.Hits[0].Score, res.Hits[0].Components = 0, nil
	if diff := gocmp.Diff(want, res.Hits[0]); diff != "" {
		t.Errorf("hit differs (-want +got):\n%s", diff)
	}
	for _, q := range []string{"grosser", "sea", "day"} {
		if len(ix.Search(Query{Text: q}).Hits) != 1 {
			t.Errorf("%q: not found by title, tag or heading", q)
		}
	}
}

// More occurrences than can be counted count as the largest number that can.
func TestManyOccurrences(t *testing.T) {
	ix := New(&Options{ChunkSize: 10_000})
	ix.Put(document.Document{Path: "a.txt", Text: strings.Repeat("cat ", 1000) + strings.Repeat("dog ", 255)})
	ix.Put(document.Document{Path: "b.txt", Text: "bird"})
	cat, dog := ix.Search(Query{Text: "cat"}).Hits[0], ix.Search(Query{Text: "dog"}).Hits[0]
	if cat.Score != dog.Score {
		t.Errorf("1000 occurrences score %v, 255 score %v; want the same", cat.Score, dog.Score)
	}
	if got := ix.total; got != 1256 {
		t.Errorf("length %d, want all 1256 terms", got)
	}
}

func TestGenerated(t *testing.T) {
	ix := New(nil)
	for _, path := range []string{"a.md", "notes/_digest.md"} {
		doc, _ := document.Parse(path, "cat")
		ix.Put(doc)
	}
	if got := paths(ix.Search(Query{Text: "cat"})); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("found %v, want no generated document", got)
	}
	if got := paths(ix.Search(Query{Text: "cat", Filter: Filter{Generated: true}})); len(got) != 2 {
		t.Errorf("found %v, want the generated document too", got)
	}
}

// A question knows what is dated on its own day, each day being that of the clock where the date
// was written.
func TestBefore(t *testing.T) {
	noon := time.Date(2024, 5, 8, 12, 0, 0, 0, time.UTC)
	east := time.FixedZone("", 10*3600)
	ix := New(nil)
	ix.Put(document.Document{Path: "before.md", Text: "cat", Date: noon.AddDate(0, 0, -1)})
	ix.Put(document.Document{Path: "later.md", Text: "cat", Date: noon.Add(11*time.Hour + 59*time.Minute)})
	ix.Put(document.Document{Path: "east.md", Text: "cat", Date: time.Date(2024, 5, 9, 1, 0, 0, 0, east)}) // 15:00 UTC
	ix.Put(document.Document{Path: "undated.md", Text: "cat"})
	tests := []struct {
		before time.Time
		want   []string
	}{
		{time.Time{}, []string{"before.md", "east.md", "later.md", "undated.md"}},
		{noon, []string{"before.md", "later.md", "undated.md"}},
		{noon.In(east), []string{"before.md", "later.md", "undated.md"}},
		{noon.Add(4 * time.Hour).In(east), []string{"before.md", "east.md", "later.md", "undated.md"}},
		{noon.AddDate(0, 0, -1), []string{"before.md", "undated.md"}},
		{time.Date(2023, 12, 31, 0, 0, 0, 0, time.UTC), []string{"undated.md"}},
	}
	for _, tt := range tests {
		if got := paths(ix.Search(Query{Text: "cat", AsOf: tt.before})); !slices.Equal(got, tt.want) {
			t.Errorf("before %v: %v, want %v", tt.before, got, tt.want)
		}
	}
	if got := paths(ix.Search(Query{Text: "cat", AsOf: noon, TopK: 2})); !slices.Equal(got, []string{"before.md", "later.md"}) {
		t.Errorf("asked at noon, top 2: %v; documents left out must not take places", got)
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
		ix.Put(document.Document{Path: path, Text: strings.Repeat(long, 12)})
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
	if got := len(ix.Search(Query{Text: "cat"}).Hits); got != defaultTopK {
		t.Errorf("%d hits without TopK, want %d", got, defaultTopK)
	}
}

// Searches during changes see each document whole, before or after a change.
func TestConcurrentUse(t *testing.T) {
	ix := New(&Options{ChunkSize: 64})
	version := func(path string, v int) document.Document {
		return document.Document{Path: path, Title: fmt.Sprint("v", v), Text: strings.Repeat(fmt.Sprintf("cat version%d %s. ", v, path), 20)}
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
	awaittest.Wait(t, "writers", writers.Wait)
	close(done)
	awaittest.Wait(t, "readers", readers.Wait)
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

// A long series of replacements neither grows the index nor loses anything.
func TestCompaction(t *testing.T) {
	ix := New(nil)
	for i := range 1000 {
		ix.Put(document.Document{Path: fmt.Sprintf("%d.md", i%10), Text: fmt.Sprintf("cat number%d", i)})
	}
	if len(ix.chunks) > 14 || len(ix.names) > 26 || len(ix.postings) > 26 || len(ix.numbers) > 26 {
		t.Errorf("%d chunks and %d terms are held for 10 documents", len(ix.chunks), len(ix.names))
	}
	if got := len(ix.Search(Query{Text: "cat", TopK: 100}).Hits); got != 10 {
		t.Errorf("%d hits, want 10", got)
	}
	if len(ix.Search(Query{Text: "number989"}).Hits) != 0 || len(ix.Search(Query{Text: "number999"}).Hits) != 1 {
		t.Error("an old version is found, or a new one is not")
	}
}

// Words that no longer occur are removed.
func TestKnownWordsAreBounded(t *testing.T) {
	ix := New(nil)
	const each = maxWords/2 + 1
	for i := range 3 {
		var text strings.Builder
		for n := range each {
			fmt.Fprintf(&text, "w%d ", i*each+n)
		}
		ix.Put(document.Document{Path: "a.txt", Text: text.String()})
	}
	if len(ix.words) > maxWords {
		t.Errorf("%d words are known, want at most %d", len(ix.words), maxWords)
	}
	if len(ix.Search(Query{Text: fmt.Sprint("w", each*3-1)}).Hits) != 1 {
		t.Error("the last word is not found")
	}
}
