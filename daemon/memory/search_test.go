package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
)

func found(t *testing.T, s *fixture, r protocol.SearchRequest) []string {
	t.Helper()
	got, err := s.Search(t.Context(), s.brain, r)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, c := range got.Chunks {
		ids = append(ids, c.ChunkID)
	}
	return ids
}

func TestSearchAnswer(t *testing.T) {
	s := open(t)
	s.put(t, "notes/trip.md", "---\ntitle: Trip\ndate: 2024-03-02\ntags: [sea, north]\nmood: 5\n---\n# Day 1\n\nWe saw a whale.\n")
	got, err := s.Search(t.Context(), s.brain, protocol.SearchRequest{Query: "whales?"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Chunks) != 1 || got.Chunks[0].Score <= 0 {
		t.Fatalf("got %+v", got)
	}
	got.Chunks[0].Score = 0
	text := got.Chunks[0].Text
	at := len([]rune(text[:strings.Index(text, "whale")]))
	want := protocol.SearchResponse{
		Query: "whales?", BrainID: "eval", Mode: "auto", EffectiveMode: "bm25",
		Chunks: []protocol.SearchChunk{{
			ChunkID: "notes/trip.md#0", DocumentID: "notes/trip.md", BrainID: "eval", Path: "notes/trip.md",
			Title: "Trip", Text: text, Highlights: []protocol.Span{{Start: at, End: at + 5}},
			ComponentScores: got.Chunks[0].ComponentScores,
			Metadata:        map[string]any{"date": "2024-03-02", "tags": "sea,north", "mood": got.Chunks[0].Metadata["mood"], "heading_path": "Day 1"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSearchArguments(t *testing.T) {
	s := open(t)
	s.put(t, "a.md", "a whale")
	tests := []struct {
		name string
		r    protocol.SearchRequest
		bad  string // empty when accepted
	}{
		{"no query", protocol.SearchRequest{}, "query"},
		{"long query", protocol.SearchRequest{Query: strings.Repeat("é", 4097)}, "query"},
		{"longest query", protocol.SearchRequest{Query: strings.Repeat("é", 4096)}, ""},
		{"top_k below", protocol.SearchRequest{Query: "x", TopK: -1}, "top_k"},
		{"top_k above", protocol.SearchRequest{Query: "x", TopK: 101}, "top_k"},
		{"top_k", protocol.SearchRequest{Query: "x", TopK: 100}, ""},
		{"candidate_k", protocol.SearchRequest{Query: "x", CandidateK: -1}, "candidate_k"},
		{"rerank_top_n", protocol.SearchRequest{Query: "x", RerankTopN: -1}, "rerank_top_n"},
		{"both", protocol.SearchRequest{Query: "x", CandidateK: 50, RerankTopN: 5}, ""},
		{"bm25", protocol.SearchRequest{Query: "x", Mode: "bm25"}, ""},
		{"semantic", protocol.SearchRequest{Query: "x", Mode: "semantic"}, "mode"},
		{"hybrid", protocol.SearchRequest{Query: "x", Mode: "hybrid"}, "mode"},
		{"hybrid-rerank", protocol.SearchRequest{Query: "x", Mode: "hybrid-rerank"}, "mode"},
		{"unknown mode", protocol.SearchRequest{Query: "x", Mode: "BM25"}, "mode"},
		{"date", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-30"}, "question_date"},
		{"date in words", protocol.SearchRequest{Query: "x", QuestionDate: "yesterday"}, "question_date"},
		{"day", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-29"}, ""},
		{"time", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-29T10:00:00+02:00"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.Search(t.Context(), s.brain, tt.r)
			if tt.bad == "" {
				if err != nil || got.EffectiveMode != "bm25" || got.Chunks == nil {
					t.Errorf("got %+v, %v", got, err)
				}
			} else if !isArgument(err, tt.bad) {
				t.Errorf("got %v, want an error about %s", err, tt.bad)
			}
		})
	}
}

func TestQuestionDateHidesTheFuture(t *testing.T) {
	s := open(t)
	s.put(t, "undated.md", "a whale")
	s.put(t, "march.md", "---\ndate: 2024-03-02T18:00:00Z\n---\na whale in March")
	s.put(t, "april.md", "---\ndate: 2024-04-01\n---\na whale in April")
	for date, want := range map[string][]string{
		"":                          {"april.md#0", "march.md#0", "undated.md#0"},
		"2024-03-02":                {"march.md#0", "undated.md#0"},
		"2024-03-01":                {"undated.md#0"},
		"2024-03-02T00:30:00+02:00": {"march.md#0", "undated.md#0"},
		"2024-03-01T23:30:00-02:00": {"undated.md#0"},
	} {
		got := found(t, s, protocol.SearchRequest{Query: "whale", QuestionDate: date})
		if diff := cmp.Diff(want, sorted(got)); diff != "" {
			t.Errorf("asked on %q: %s", date, diff)
		}
	}
}

func TestSearchOperators(t *testing.T) {
	s := open(t)
	s.put(t, "a.md", "The red car stands in the garage.")
	s.put(t, "b.md", "A car, red and blue, stands in the street.")
	s.put(t, "c.md", "A blue bicycle.")
	for _, c := range []struct {
		query string
		want  []string
	}{
		{`"red car"`, []string{"a.md#0"}},
		{`car -garage`, []string{"b.md#0"}},
		{`bicy*`, []string{"c.md#0"}},
		{`"red car" OR bicycles`, []string{"a.md#0", "c.md#0"}},
		{`"no such phrase"`, []string{}},
	} {
		if got := found(t, s, protocol.SearchRequest{Query: c.query}); !cmp.Equal(got, c.want) {
			t.Errorf("%s finds %q, want %q", c.query, got, c.want)
		}
	}
	got, err := s.Search(t.Context(), s.brain, protocol.SearchRequest{Query: `blue, "red car" -x`})
	if err != nil || !cmp.Equal(got.Operators, []string{`"red car"`, `-x`}) {
		t.Errorf("operators are %q, %v", got.Operators, err)
	}
	for _, query := range []string{`-garage`, `-"red car" -blue*`} {
		if _, err := s.Search(t.Context(), s.brain, protocol.SearchRequest{Query: query}); !isArgument(err, "query") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// A question has no operators, in a search and even less when it is asked.
func TestQuestionsHaveNoOperators(t *testing.T) {
	s := open(t)
	s.put(t, "a.md", "The red car stands in the garage.")
	s.put(t, "b.md", "A car, red and blue, stands in the street.")
	s.put(t, "c.md", "A blue bicycle.")
	ask := func(question string) string {
		lines, err := transcript(s, protocol.AskRequest{Question: question})
		if err != nil {
			t.Fatal(err)
		}
		return lines[0] // what was retrieved
	}
	if got, want := ask(`where is the "red car" -garage OR bicy*`), ask(`where is the red car garage or bicy`); got != want {
		t.Errorf("with operators, %s\nis retrieved, without %s", got, want)
	}
	plain := found(t, s, protocol.SearchRequest{Query: `Where is the red car garage?`})
	if got := found(t, s, protocol.SearchRequest{Query: `Where is the "red car" -garage?`}); !cmp.Equal(got, plain) {
		t.Errorf("a question finds %q, want %q", got, plain)
	}
}
