package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
)

var may8 = time.Date(2024, 5, 8, 12, 0, 0, 0, time.UTC)

// talk is a conversation with one turn in each document, and two notes.
func talk() *Index {
	ix := New(nil)
	turns := []string{
		"Anna: did the green boat race go well?",
		"Ben: we won, and the harbour was full of flags.",
		"Anna: flags everywhere, like at the lantern festival.",
		"Ben: the lantern festival is in autumn, the boat race was in May.",
		"Anna: my lantern broke in the rain.",
	}
	for i, text := range turns {
		ix.Put(document.Document{Path: fmt.Sprintf("talk/turn-%d.md", i+1), Title: "Session 1", Text: text, Date: may8})
	}
	ix.Put(document.Document{Path: "notes/boat.md", Title: "Boat", Text: "Paint the boat green before the race.", Date: may8.AddDate(0, 2, 0)})
	ix.Put(document.Document{Path: "notes/flags.md", Title: "Flags", Text: "Signal flags, rain covers, a lantern."})
	return ix
}

// The whole ranking to six digits: it detects a changed constant or formula.
func TestRankingGolden(t *testing.T) {
	res := talk().Search(Query{Text: "Who won the boat race in May?", AsOf: may8.AddDate(0, 6, 0)})
	var got []string
	for _, h := range res.Hits {
		line := fmt.Sprintf("%s %.6f =", h.Path, h.Score)
		for _, name := range []string{componentBM25, componentNeighbours, componentFeedback, componentDate, componentReply} {
			line += fmt.Sprintf(" %.6f", h.Components[name])
		}
		got = append(got, line)
	}
	want := []string{
		"talk/turn-4.md 5.309428 = 3.226227 0.000000 0.566222 1.516980 0.000000",
		"talk/turn-2.md 4.601034 = 1.703089 0.469902 0.387150 1.024056 1.016837",
		"talk/turn-1.md 3.389458 = 1.634728 0.495836 0.290478 0.968417 0.000000",
		"notes/boat.md 2.429881 = 2.285504 0.000000 0.144377 0.000000 0.000000",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("ranking differs (-want +got):\n%s", diff)
	}
}

// bestOf returns the chunks of all documents in the order of their numbers, without any features.
func bestOf(ix *Index) []scoredChunk {
	best := make([]scoredChunk, len(ix.chunks))
	for n := range best {
		best[n].chunk = uint32(n)
	}
	return best
}

// byText returns an index with one document of one chunk for each text, in that order.
func byText(texts ...string) *Index {
	ix := New(nil)
	for i, text := range texts {
		ix.Put(document.Document{Path: fmt.Sprintf("%d.txt", i), Text: text})
	}
	return ix
}

func TestNeighbours(t *testing.T) {
	ix := New(&Options{ChunkSize: 64})
	put := func(path, text string, date time.Time) {
		ix.Put(document.Document{Path: path, Text: text, Date: date})
	}
	long := strings.Repeat("grass ", 10)
	put("a/1.txt", "boat", may8)
	put("a/2.txt", "harbour", may8)
	put("a/3.txt", long+long+"boat", may8) // two chunks, the boat in the second
	put("a/4.txt", "harbour", may8)
	put("a/5.txt", "boat", may8.Add(time.Second))
	put("b/1.txt", "harbour", may8)
	put("b/2.txt", "boat", may8.Add(time.Second))
	put("b/3.txt", "harbour", may8)
	put("c/1.txt", "boat", time.Time{})
	put("c/2.txt", "harbour", time.Time{})
	best := bestOf(ix)
	ix.addNeighbours(&scratch{}, ix.known(ix.queryTerms("boat")), best)
	var got []string
	for _, f := range best {
		if f.neighbours > 0 {
			got = append(got, ix.chunks[f.chunk].doc.Path)
		}
	}
	if want := []string{"a/2.txt", "a/4.txt"}; !slices.Equal(got, want) {
		t.Errorf("neighbours of boats are %v, want %v", got, want)
	}
	norm := ix.lengthNorm()
	tf := 1 / norm.of(2)
	want := ix.gain(ix.numbers["boat"]) * ix.saturated(defaultWeights.neighbours*tf)
	if got := best[1].neighbours; math.Abs(got-want) > 1e-9 {
		t.Errorf("a boat beside scores %v, want %v", got, want)
	}
}

func TestFeedback(t *testing.T) {
	ix := byText("boat mast sail", "boat mast", "mast sail rope", "rope knot", "knot")
	query := ix.known(ix.queryTerms("boat"))
	best := ix.best(&scratch{}, query, nil, 10)
	all := make([]scoredChunk, len(best))
	for i, c := range best {
		all[i] = scoredChunk{c, features{bm25: c.score}}
	}
	terms := ix.feedback(&scratch{}, query, all)
	var got []string
	for _, term := range terms {
		got = append(got, ix.names[term.term])
	}
	// Each number in the paths occurs in one document.
	if want := []string{"mast", "sail"}; !slices.Equal(got, want) || terms[0].weight != .2 || terms[1].weight >= .2 {
		t.Errorf("feedback is %v of weights %v, want %v", got, terms, want)
	}
	chunks := bestOf(ix)
	ix.addFeedback(&scratch{}, terms, chunks)
	if !(chunks[0].feedback > chunks[1].feedback && chunks[2].feedback > 0 && chunks[3].feedback == 0) {
		t.Errorf("feedback scores %+v", chunks)
	}
	if terms := ix.feedback(&scratch{}, nil, nil); len(terms) != 0 {
		t.Errorf("feedback without hits is %v", terms)
	}
}

// A long question gains fewer new words, and those of its own that the best chunks contain.
func TestFeedbackOfLongQuestion(t *testing.T) {
	ix := byText("boat mast", "boat mast rope", "knot", "knot cat", "knot dog", "cat dog", "dog hut")
	for _, c := range []struct {
		question string
		want     map[string]float64
	}{
		{"boat boat boat boat knot cat dog hut rope", map[string]float64{"mast": .2}}, // 3 + 5 words
		{ // 3 + 3 + 4
			"boat boat boat boat knot knot knot knot cat dog hut rope",
			map[string]float64{"mast": .2 * 8 / 10, "boat": 3 * 2. / 10},
		},
	} {
		query := ix.known(ix.queryTerms(c.question))
		best := ix.best(&scratch{}, query, func(d *document.Document) bool { return d.Text == "boat mast" }, 10)
		got := map[string]float64{}
		for _, term := range ix.feedback(&scratch{}, query, []scoredChunk{{best[0], features{bm25: best[0].score}}}) {
			got[ix.names[term.term]] = math.Round(term.weight*1e9) / 1e9
		}
		for name, weight := range c.want {
			c.want[name] = math.Round(weight*1e9) / 1e9
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: terms differ (-want +got):\n%s", c.question, diff)
		}
	}
}

// frequencies finds the same as a scan of all postings.
func TestFrequencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		cats := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 40).Draw(t, "cats")
		for range rapid.SampledFrom([]int{1, 10}).Draw(t, "times") {
			for _, n := range cats {
				texts = append(texts, "dog "+strings.Repeat("cat ", n))
			}
		}
		ix := byText(texts...)
		wanted := rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(len(texts)-1)), 0, min(12, len(texts)), rapid.ID).Draw(t, "chunks")
		slices.Sort(wanted)
		term, ok := ix.numbers["cat"]
		if !ok {
			return
		}
		s := &scratch{}
		in := ix.passages(s, wanted)
		got := make([]float64, len(wanted))
		for _, at := range ix.frequencies(s, term, in) {
			if got[at.place] != 0 {
				t.Fatalf("chunk %d is found twice", wanted[at.place])
			}
			got[at.place] = at.tf
		}
		in.free()
		if slices.Max(s.places) > 0 {
			t.Fatal("places are not freed")
		}
		for i, n := range wanted {
			norm := ix.lengthNorm()
			want := float64(strings.Count(texts[n], "cat")) / norm.of(ix.extents[n])
			if math.Abs(got[i]-want) > 1e-9 {
				t.Fatalf("chunk %d has %v, want %v", n, got[i], want)
			}
		}
	})
}

// Chunks that are not rescored follow the others in the order of BM25.
func TestRescoredComeFirst(t *testing.T) {
	ix := New(nil)
	for i := range rescoreDepth + 100 {
		ix.Put(document.Document{Path: fmt.Sprintf("%03d.txt", i), Text: "cat " + strings.Repeat("dog ", i%50), Date: may8})
	}
	hits := ix.Search(Query{Text: "cat", TopK: rescoreDepth + 100}).Hits
	if len(hits) != rescoreDepth+100 {
		t.Fatalf("%d hits", len(hits))
	}
	if !slices.IsSortedFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) {
		t.Error("hits are not in the order of their scores")
	}
	for _, h := range hits[rescoreDepth:] {
		if len(h.Components) != 1 {
			t.Errorf("%s was looked at again: %v", h.Path, h.Components)
		}
	}
}

func TestDates(t *testing.T) {
	ix := New(nil)
	for path, date := range map[string]time.Time{"in.txt": may8, "out.txt": may8.AddDate(0, 3, 0), "undated.txt": {}} {
		ix.Put(document.Document{Path: path, Text: "cat", Date: date})
	}
	for _, h := range ix.Search(Query{Text: "The cat of May", AsOf: may8.AddDate(0, 6, 0)}).Hits {
		want := 0.0
		if h.Path == "in.txt" {
			want = defaultWeights.date * h.Components[componentBM25]
		}
		if got := h.Components[componentDate]; got != want {
			t.Errorf("%s: the date scores %v, want %v", h.Path, got, want)
		}
	}
}
