package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
	"evalctl/internal/printable"
)

// searchResult is the payload of memory_search (spec 4.1).
type searchResult struct {
	Query   string  `json:"query"`
	BrainID string  `json:"brain_id"`
	Hits    []hit   `json:"hits"`
	TookMS  float64 `json:"took_ms"`
	searchState
}

// searchState is how a search ran, see protocol.SearchResponse.
type searchState struct {
	EffectiveMode string             `json:"effective_mode,omitempty"`
	Degraded      string             `json:"degraded,omitempty"`
	Indexing      *protocol.Indexing `json:"indexing,omitempty"`
}

// hit is a chunk whose text is called content.
type hit struct {
	protocol.SearchChunk
	Content string  `json:"content"`
	Text    *string `json:"text,omitempty"` // nil: hides the text of the chunk
}

func search(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(id string, b *client.Brain) (reply, error) {
		found, err := b.Search(ctx, protocol.SearchRequest{
			Query: c.args.text("query"), TopK: c.args.number("top_k"),
			Scope: c.args.text("scope"), Sort: c.args.text("sort"),
		})
		if err != nil {
			return reply{}, err
		}
		result := searchResult{
			Query: cmp.Or(found.Query, c.args.text("query")), BrainID: cmp.Or(found.BrainID, id),
			Hits: []hit{}, TookMS: found.TookMS,
			searchState: searchState{found.EffectiveMode, found.Degraded, found.Indexing},
		}
		for _, chunk := range found.Chunks {
			result.Hits = append(result.Hits, hit{SearchChunk: chunk, Content: chunk.Text})
		}
		return reply{result, summary(found.Chunks, result.searchState)}, nil
	})
}

// recall is a search unless the call names a session.
func recall(ctx context.Context, c call) (reply, error) {
	session := c.args.text("session_id")
	if session == "" {
		return search(ctx, c)
	}
	return inBrain(ctx, c, func(_ string, b *client.Brain) (reply, error) {
		found, err := b.Recall(ctx, session, protocol.RecallRequest{
			Query: c.args.text("query"), TopK: c.args.number("top_k"), Scope: c.args.text("scope"),
		})
		if err != nil {
			return reply{}, err
		}
		if found.Chunks == nil {
			found.Chunks = []protocol.SearchChunk{}
		}
		state := searchState{found.EffectiveMode, found.Degraded, found.Indexing}
		return reply{found, summary(found.Chunks, state)}, nil
	})
}

const (
	summaryHits  = 5
	summaryChars = 320 // code points of each hit
)

// summary lists the first hits, each as "#N score=S path" and the beginning of its text, and names
// the missing part of the index and why a lower mode ran.
func summary(chunks []protocol.SearchChunk, state searchState) string {
	var b strings.Builder
	if len(chunks) == 0 {
		b.WriteString("no hits")
	}
	for i, chunk := range chunks[:min(len(chunks), summaryHits)] {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "#%d score=%.4g %s\n%s", i+1, chunk.Score, chunk.Path, printable.First(chunk.Text, summaryChars))
	}
	if missing := state.Indexing; missing != nil {
		fmt.Fprintf(&b, "\n\n%d documents that were written last are not indexed yet and were not searched",
			missing.DocumentsTotal-missing.DocumentsDone)
	}
	if state.Degraded != "" {
		fmt.Fprintf(&b, "\n\nthe search fell back to %s: %s", state.EffectiveMode, printable.First(state.Degraded, summaryChars))
	}
	return b.String()
}
