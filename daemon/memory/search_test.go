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
