package brain

import (
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

func TestPassages(t *testing.T) {
	s := open(t, func(c *Config) {
		c.Search = search.Config{Embedder: llm.FakeEmbedder{}}
		c.ChunkSize = 100
	})
	create(t, s, "eval")
	text := []byte(strings.Repeat("The walrus lives in the sea.\n\n", 20))
	put(t, s, "eval", "a.md", string(text))
	put(t, s, "eval", "b.md", "otter")
	h := use(t, s, "eval")
	check := func(when string, wantEmbedded bool) {
		t.Helper()
		count, embedded := h.Passages("a.md", text)
		if count < 4 || wantEmbedded && embedded != count || !wantEmbedded && embedded != 0 {
			t.Errorf("%s: %d passages, %d embedded", when, count, embedded)
		}
	}
	check("without an index", false)
	if _, err := h.Search(t.Context(), search.Query{Text: "walrus", Mode: protocol.ModeSemantic}); err != nil {
		t.Fatal(err)
	}
	check("after a semantic search", true)
	if count, embedded := h.Passages("none.md", text); count < 4 || embedded != 0 {
		t.Errorf("another document: %d passages, %d embedded", count, embedded)
	}
	for _, path := range []string{"a.pdf", "jobs/_1.json", "originals/a/_x.txt"} {
		if count, _ := h.Passages(path, text); count != 0 {
			t.Errorf("%s has %d passages", path, count)
		}
	}
	if count, _ := h.Passages("a.md", nil); count != 0 {
		t.Errorf("an empty document has %d passages", count)
	}
}
