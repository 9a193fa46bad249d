package result_test

import (
	"testing"

	"evalctl/harness/result"
)

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
