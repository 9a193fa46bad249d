package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/language"
	"evalctl/daemon/search/document"
)

// errorer is the common part of a test and a property check.
type errorer interface {
	Errorf(format string, args ...any)
}

// naive scores every chunk by the definition at score, without any precomputed data.
func naive(docs map[string]document.Document, size int, query string) map[string]float64 {
	chunks := map[string][fieldCount][]string{}
	total, han := 0.0, 0.0 // han are the chunks in Chinese and Japanese
	pieces := map[string]float64{}
	for _, d := range docs {
		for _, c := range document.Split(&d, size) {
			pieces[document.ChunkID(d.Path, c.Ordinal)] = float64(len(document.Split(&d, size)))
			ch := chunk{doc: &entry{Document: d}, text: c.Text, headings: c.Headings}
			var fields [fieldCount][]string
			for i, text := range ch.fields() {
				fields[i] = language.English.Terms(text)
			}
			chunks[document.ChunkID(d.Path, c.Ordinal)] = fields
			total += withoutLetters(fields[textField])
			if l := language.Detect(d.Title + "\n" + d.Text); l.Spells("猫") {
				han++
			}
		}
	}
	n, p := float64(len(chunks)), defaultParameters
	scores := map[string]float64{}
	asked := map[string]float64{}
	for _, q := range language.English.Terms(query) {
		asked[q]++
	}
	for q, times := range asked {
		tfs, df := map[string]float64{}, 0.0
		for id, fields := range chunks {
			length := withoutLetters(fields[textField])
			if pieces[id] > 1 {
				length = math.Round(length + p.scope*math.Log(pieces[id])*(length+p.slack))
			}
			norm := 1 - p.b + p.b*(length+p.slack)/(total/n+p.slack)
			if pieces[id] == 1 && norm > 1 {
				norm = 1 + p.beyond*(norm-1)
			}
			for i, terms := range fields {
				for _, t := range terms {
					switch {
					case t != q:
					case i == textField:
						tfs[id] += 1 / norm
					default:
						tfs[id] += fieldWeights[i]
					}
				}
			}
			if tfs[id] > 0 {
				df++
			}
		}
		rarity := math.Log(1 + (n-df+0.5)/(df+0.5))
		if language.Share(q) < 1 && df <= han && han < n {
			rarity = math.Log(1+(han-df+0.5)/(df+0.5)) * math.Log(1+(n-0.5)/1.5) / math.Log(1+(han-0.5)/1.5)
		}
		for id, tf := range tfs {
			if tf > 0 {
				weight := (p.k3 + 1) * times / (p.k3 + times)
				if language.Share(q) == 0 {
					weight *= p.letter
				}
				scores[id] += weight * rarity * (p.k1 + 1) * tf / (tf + p.k1)
			}
		}
	}
	return scores
}

// withoutLetters counts the terms that are not a letter of a script without spaces.
func withoutLetters(terms []string) (n float64) {
	for _, t := range terms {
		if language.Share(t) > 0 {
			n++
		}
	}
	return n
}

// After any changes, an index answers like one that is built from scratch, and according to the
// definition of BM25.
func TestIndexProperties(t *testing.T) {
	words := []string{"cat ", "cats ", "dog ", "the ", "sea. ", "Lisbon ", "naïve ", "猫", "it's ", "\n\n", "\n# Dog days\n", "\n## Sea\n"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 40).Draw(t, "words"), "")
	})
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		const size = 64
		ix := New(&Options{ChunkSize: size})
		docs := map[string]document.Document{}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			path := rapid.SampledFrom([]string{"a.md", "b.md", "cat.txt", "d/e.md", "d/sea.txt"}).Draw(t, "path")
			if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				ix.Delete(path)
				delete(docs, path)
				continue
			}
			doc := document.Document{Path: path, Text: text.Draw(t, "text"), Title: rapid.SampledFrom([]string{"", "Dog days", "cat"}).Draw(t, "title"),
				Tags: rapid.SampledFrom([][]string{nil, {"sea", "the cat"}}).Draw(t, "tags"), Date: rapid.SampledFrom([]time.Time{{}, day}).Draw(t, "date")}
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
		checkSequences(t, ix)
		checkNeighbours(t, ix)
		checkScores(t, all.Hits, naive(docs, size, query))
		words := Terms(query)
		for _, h := range all.Hits {
			checkHighlights(t, h, words)
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
		if bm25 := h.Components[componentBM25]; math.Abs(bm25-want[h.ChunkID]) > 1e-9 {
			t.Errorf("%s scores %v by BM25, want %v", h.ChunkID, bm25, want[h.ChunkID])
		}
		sum := 0.0
		for _, part := range h.Components {
			sum += part
		}
		if math.Abs(h.Score-sum) > 1e-9 {
			t.Errorf("%s scores %v, which is not the sum of %v", h.ChunkID, h.Score, h.Components)
		}
	}
	ordinal := func(h Hit) int { return len(h.ChunkID)*1000 + int(h.ChunkID[len(h.ChunkID)-1]) } // numbers below 100
	if !slices.IsSortedFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path), cmp.Compare(ordinal(a), ordinal(b)))
	}) {
		t.Errorf("hits are out of order: %+v", hits)
	}
}

// checkHighlights checks that exactly the words of the text that match a term are highlighted.
func checkHighlights(t errorer, h Hit, terms []string) {
	points := []rune(h.Text)
	var got, want []string
	for _, s := range h.Highlights {
		got = append(got, language.English.Terms(string(points[s.Start:s.End]))...)
	}
	for _, term := range language.English.Terms(h.Text) {
		if slices.Contains(terms, term) {
			want = append(want, term)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("highlights of %q for %q are %q, want %q", h.Text, terms, got, want)
	}
}

// checkSequences checks that the term numbers of every chunk are the terms of its words.
func checkSequences(t errorer, ix *Index) {
	for _, doc := range ix.docs {
		for i, ch := range ix.chunksOf(doc) {
			var got []string
			for field, term := range ch.terms() {
				if field == textField {
					got = append(got, ix.names[term])
				}
			}
			if ch.doc != doc || !slices.Equal(got, doc.Language.Terms(ch.fields()[textField])) {
				t.Errorf("chunk %d of %s has the terms %q for %q", i, doc.Path, got, ch.text)
			}
		}
	}
}

// checkNeighbours checks that walking from neighbour to neighbour visits the documents of every
// folder in the order of their paths.
func checkNeighbours(t errorer, ix *Index) {
	folders := map[string][]string{}
	for p := range ix.docs {
		folder, _ := splitPath(p)
		folders[folder] = append(folders[folder], p)
	}
	for folder, want := range folders {
		slices.Sort(want)
		var got []string
		for doc := ix.docs[want[0]]; doc != nil; doc = doc.next {
			got = append(got, doc.Path)
			if prev := doc.prev; (prev == nil) != (len(got) == 1) || prev != nil && prev.Path != got[len(got)-2] {
				t.Errorf("before %s is %v", doc.Path, prev)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q holds %v in this order, want %v", folder, got, want)
		}
	}
}

// Whatever a file contains, its document can be put, found and deleted without a trace.
func FuzzPut(f *testing.F) {
	f.Add("n.md", []byte("---\ntitle: a\ntags: [b, c]\ndate: 2024-05-08\n---\n# x\n\ny"))
	f.Add("n.txt", []byte("\xff---\n"))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		doc, ok := document.Parse(path, string(data))
		if !ok {
			return
		}
		ix := New(&Options{ChunkSize: document.MinChunkSize})
		ix.Put(doc)
		ix.Search(Query{Text: doc.Text})
		ix.Delete(doc.Path)
		if ix.Len() != 0 || ix.total != 0 || len(ix.names) != 0 {
			t.Errorf("%d documents, %d terms, %d words left", ix.Len(), len(ix.names), ix.total)
		}
	})
}
