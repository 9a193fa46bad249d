package search

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evalctl/daemon/search/document"
)

func day(n int) time.Time { return time.Date(2024, 5, n, 12, 0, 0, 0, time.UTC) }

func TestFilterKeep(t *testing.T) {
	doc := document.Document{
		Path: "memory/project/alpha/plan.md", Tags: []string{"sea", "Trip"}, Date: day(8),
		Metadata: map[string]any{"session_id": "s1"},
	}
	undated := document.Document{Path: "notes/a.md", Metadata: map[string]any{"session_id": int64(12)}}
	badly := document.Document{Path: "notes/b.md", BadDate: true}
	generated := document.Document{Path: "notes/_index.md", Generated: true}
	tests := []struct {
		name   string
		filter Filter
		asOf   time.Time
		doc    document.Document
		want   bool
	}{
		{"nothing set", Filter{}, time.Time{}, doc, true},
		{"prefix", Filter{PathPrefix: "memory/pro"}, time.Time{}, doc, true},
		{"prefix elsewhere", Filter{PathPrefix: "project"}, time.Time{}, doc, false},
		{"one of the paths", Filter{Paths: []string{"x.md", doc.Path}}, time.Time{}, doc, true},
		{"none of the paths", Filter{Paths: []string{"plan.md"}}, time.Time{}, doc, false},
		{"all tags", Filter{Tags: []string{"Trip", "sea"}}, time.Time{}, doc, true},
		{"one tag of two", Filter{Tags: []string{"sea", "sun"}}, time.Time{}, doc, false},
		{"tag spelled otherwise", Filter{Tags: []string{"trip"}}, time.Time{}, doc, false},
		{"prefix and tag", Filter{PathPrefix: "memory/", Tags: []string{"sea"}}, time.Time{}, doc, true},
		{"prefix elsewhere and tag", Filter{PathPrefix: "notes/", Tags: []string{"sea"}}, time.Time{}, doc, false},
		{"prefix and other tag", Filter{PathPrefix: "memory/", Tags: []string{"sun"}}, time.Time{}, doc, false},
		{"session", Filter{SessionIDs: []string{"s0", "s1"}}, time.Time{}, doc, true},
		{"other session", Filter{SessionIDs: []string{"s"}}, time.Time{}, doc, false},
		{"numeric session", Filter{SessionIDs: []string{"12"}}, time.Time{}, undated, true},
		{"no session", Filter{SessionIDs: []string{""}}, time.Time{}, generated, false},
		{"from that instant", Filter{From: day(8)}, time.Time{}, doc, true},
		{"from later", Filter{From: day(8).Add(1)}, time.Time{}, doc, false},
		{"to that instant", Filter{To: day(8)}, time.Time{}, doc, true},
		{"to earlier", Filter{To: day(8).Add(-1)}, time.Time{}, doc, false},
		{"undated from", Filter{From: day(1)}, time.Time{}, undated, false},
		{"undated to", Filter{To: day(1)}, time.Time{}, undated, false},
		{"scope", Filter{Scope: "project"}, time.Time{}, doc, true},
		{"other scope", Filter{Scope: "agent"}, time.Time{}, doc, false},
		{"scope of all", Filter{Scope: scopeAll}, time.Time{}, undated, true},
		{"outside all scopes", Filter{Scope: "global"}, time.Time{}, undated, false},
		{"scope is a folder", Filter{Scope: "global"}, time.Time{}, document.Document{Path: "memory/globally.md"}, false},
		{"asked that instant", Filter{}, day(8), doc, true},
		{"asked earlier that day", Filter{}, day(8).Add(-12 * time.Hour), doc, true},
		{"asked the day before", Filter{}, day(8).Add(-12*time.Hour - 1), doc, false},
		{"undated asked", Filter{}, day(1), undated, true},
		{"badly dated", Filter{}, time.Time{}, badly, true},
		{"badly dated asked", Filter{}, day(8), badly, false},
		{"badly dated from", Filter{From: day(1)}, time.Time{}, badly, false},
		{"badly dated to", Filter{To: day(8)}, time.Time{}, badly, false},
		{"generated", Filter{}, time.Time{}, generated, false},
		{"generated wanted", Filter{Generated: true}, time.Time{}, generated, true},
	}
	for _, tt := range tests {
		if got := tt.filter.keep(&tt.doc, tt.asOf); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// In every mode, a filtered result is the unfiltered one without the documents that do not pass:
// nothing is filtered out after it was counted.
func TestFiltersInEveryMode(t *testing.T) {
	texts := []string{"cat", "a kitten", "dog and cat", "hound at sea", "ocean", "sea cat", "walk", "cat cat"}
	rapid.Check(t, func(t *rapid.T) {
		ix := New(nil)
		s := NewSearcher(ix, Config{Embedder: &meanings{}, Reranker: &byLength{}})
		var docs []document.Document
		for i := range rapid.IntRange(1, 40).Draw(t, "documents") {
			doc := document.Document{
				Path: rapid.SampledFrom([]string{"memory/global/", "memory/agent/", "notes/"}).Draw(t, "folder") + string(rune('A'+i)) + ".md",
				Text: rapid.SampledFrom(texts).Draw(t, "text") + strings.Repeat(" walk", i), // no two are equal
				Tags: []string{rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tag")},
			}
			if n := rapid.IntRange(0, 9).Draw(t, "day"); n > 0 {
				doc.Date = day(n)
			}
			docs = append(docs, doc)
			ix.Put(doc)
		}
		q := Query{
			Text: "cat dog sea",
			Mode: rapid.SampledFrom([]Mode{ModeBM25, ModeSemantic, ModeHybrid, ModeHybridRerank}).Draw(t, "mode"),
			TopK: rapid.IntRange(1, 12).Draw(t, "k"),
			Filter: Filter{
				Scope: rapid.SampledFrom([]string{"", "global", "agent"}).Draw(t, "scope"),
				Tags:  rapid.SampledFrom([][]string{nil, {"x"}}).Draw(t, "tags"),
				From:  rapid.SampledFrom([]time.Time{{}, day(3)}).Draw(t, "from"),
			},
			AsOf: rapid.SampledFrom([]time.Time{{}, day(6)}).Draw(t, "asked"),
		}
		res, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		passing := 0
		for _, d := range docs {
			found := slices.ContainsFunc(res.Hits, func(h Hit) bool { return h.Path == d.Path })
			switch passes := q.Filter.keep(&d, q.AsOf); {
			case found && !passes:
				t.Errorf("%+v was found by %+v", d, q)
			case passes && relevant(d.Text, q.Mode):
				passing++
			}
		}
		if len(res.Hits) != min(q.TopK, passing) {
			t.Errorf("%d hits of %d that pass, top %d", len(res.Hits), passing, q.TopK)
		}
	})
}

// relevant reports whether "cat dog sea" finds a text: in BM25 by a word, else also by a meaning.
func relevant(text string, mode Mode) bool {
	words := []string{"cat", "dog", "sea"}
	if mode != ModeBM25 {
		words = append(words, "kitten", "hound", "ocean")
	}
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(words, w) })
}

// A document belongs to the day that is written in it, in every part of a search: filters by days,
// the time of a question, and times that a question names.
func TestDayAsWritten(t *testing.T) {
	evening := time.Date(2024, 5, 8, 23, 30, 0, 0, time.FixedZone("", -5*3600)) // 9 May in UTC
	day := func(d int) time.Time { return time.Date(2024, 5, d, 0, 0, 0, 0, time.UTC) }
	ix := New(nil)
	ix.Put(document.Document{Path: "a.md", Text: "A lamp.", Date: evening})
	for _, c := range []struct {
		name string
		q    Query
		want bool
	}{
		{"from and to that day", Query{Text: "lamp", Filter: Filter{From: day(8), FromDay: true, To: day(8), ToDay: true}}, true},
		{"from the next day", Query{Text: "lamp", Filter: Filter{From: day(9), FromDay: true}}, false},
		{"to the day before", Query{Text: "lamp", Filter: Filter{To: day(7), ToDay: true}}, false},
		{"from an instant", Query{Text: "lamp", Filter: Filter{From: day(9)}}, true},
		{"asked on that day", Query{Text: "lamp", AsOf: day(8)}, true},
		{"asked on the day before", Query{Text: "lamp", AsOf: day(7)}, false},
		{"yesterday", Query{Text: "What happened yesterday?", AsOf: day(9)}, true},
		{"the day before yesterday", Query{Text: "What happened yesterday?", AsOf: day(10)}, false},
	} {
		if got := len(search(t, NewSearcher(ix, Config{}), c.q).Hits) > 0; got != c.want {
			t.Errorf("%s: found %t, want %t", c.name, got, c.want)
		}
	}
}
