package result_test

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// TestWanted checks that a question shows what its scorer compares, or else what it has.
func TestWanted(t *testing.T) {
	r := result.Record{Reference: "A lamp.", Expected: []string{"lamp", "light"}, ExpectedPaths: []string{"a.md", "b.md"}}
	for scorer, want := range map[string]string{
		"judge": "A lamp.", "exact": "lamp | light", "retrieval": "a.md | b.md", "of somebody else": "A lamp.",
	} {
		if got := r.Wanted(scorer); got != want {
			t.Errorf("%s: %s, want %s", scorer, got, want)
		}
	}
	r.Reference, r.Expected = "", nil
	if got := r.Wanted("exact"); got != "a.md | b.md" {
		t.Errorf("of a question with gold alone: %s", got)
	}
}

func TestGoldRanks(t *testing.T) {
	var r result.Record
	if got := r.GoldRanks(); got != "" {
		t.Errorf("without a ranking: %q", got)
	}
	r.Retrieval = &result.QuestionRetrieval{Gold: []scorer.Gold{{Path: "a.md", Rank: 2}, {Path: "b.md"}}}
	if got := r.GoldRanks(); got != "rank 2, not retrieved" {
		t.Errorf("got %q", got)
	}
}

// TestIsGold checks which names of a chunk make it gold.
func TestIsGold(t *testing.T) {
	r := result.Record{ExpectedPaths: []string{"a.md"}}
	for _, tt := range []struct {
		chunk result.Chunk
		want  bool
	}{
		{result.Chunk{Path: "a.md"}, true},
		{result.Chunk{Path: result.SeedRoot + "a.md"}, true},
		{result.Chunk{DocumentID: "a.md"}, true},
		{result.Chunk{Path: "b.md", Duplicates: []string{"a.md"}}, true},
		{result.Chunk{Path: "b.md", ChunkID: "a.md"}, false},
		{result.Chunk{}, false},
	} {
		if got := r.IsGold(tt.chunk); got != tt.want {
			t.Errorf("%+v: %v", tt.chunk, got)
		}
	}
	r.ExpectedPaths = []string{result.SeedRoot}
	if r.IsGold(result.Chunk{}) {
		t.Error("a chunk without a name is gold")
	}
}
