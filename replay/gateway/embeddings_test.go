package gateway

import (
	"net/http"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/llm/llmtest"
)

// TestEmbeddingCalls checks that each request for embeddings counts, and that one without a usable
// answer counts as failed: rejected by the provider, broken off, or refused here.
func TestEmbeddingCalls(t *testing.T) {
	r := start(t, nil, nil, llmtest.Script(
		llmtest.Reply{}, llmtest.Reply{Status: http.StatusTooManyRequests}, llmtest.Reply{Status: http.StatusBadRequest}))
	const body = `{"model":"e","input":["a"]}`
	for i, want := range []int{200, 429, 400} {
		if res, text := r.post("/v1/embeddings", body); res.StatusCode != want {
			t.Errorf("request %d: %s %s", i+1, res.Status, text)
		}
	}
	r.post("/v1/embeddings", `{"model":`)
	r.post("/v2/embeddings", body)
	r.post("/v1/chat/completions", `{"model":"m","messages":[]}`)
	if got, want := r.Embeddings(), (result.EmbeddingCalls{Calls: 5, Failed: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
