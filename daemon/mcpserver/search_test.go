package mcpserver

import (
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

func TestSummary(t *testing.T) {
	var chunks []protocol.SearchChunk
	for _, path := range []string{"a.md", "b.md", "c.md", "d.md", "e.md", "f.md"} {
		chunks = append(chunks, protocol.SearchChunk{Path: path, Score: 1.0 / 3, Text: strings.Repeat("é", 321)})
	}
	chunks[0].Text = strings.Repeat("é", 319) + "\n"
	chunks[1].Text = ""
	long := strings.Repeat("é", 320)
	want := "#1 score=0.3333 a.md\n" + strings.Repeat("é", 319) + "\n\n\n#2 score=0.3333 b.md\n\n\n#3 score=0.3333 c.md\n" + long +
		"\n\n#4 score=0.3333 d.md\n" + long + "\n\n#5 score=0.3333 e.md\n" + long
	if got := summary(chunks, searchState{}); got != want {
		t.Errorf("got %q", got)
	}
	if got := summary(nil, searchState{}); got != "no hits" {
		t.Errorf("got %q", got)
	}
	want = "no hits\n\n2 documents that were written last are not indexed yet and were not searched"
	if got := summary(nil, searchState{Indexing: &protocol.Indexing{DocumentsDone: 1, DocumentsTotal: 3}}); got != want {
		t.Errorf("got %q", got)
	}
	want = "no hits\n\nthe search fell back to bm25: the embedder is gone"
	if got := summary(nil, searchState{EffectiveMode: "bm25", Degraded: "the embedder is gone"}); got != want {
		t.Errorf("got %q", got)
	}
}
