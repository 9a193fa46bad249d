package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

const embeddingMetrics = `# TYPE evalctl_embedded_texts_total counter
evalctl_embedded_texts_total{from="cache"} 3
evalctl_embedded_texts_total{from="model"} 4
# TYPE evalctl_embedding_tokens_total counter
evalctl_embedding_tokens_total{model="m",provider="p"} 50
# TYPE evalctl_embedding_uncounted_texts_total counter
evalctl_embedding_uncounted_texts_total 1
`

// TestEmbeddings: the metrics are read as they are, and nothing is made up for a daemon that has
// none.
func TestEmbeddings(t *testing.T) {
	for body, want := range map[string]Embeddings{
		embeddingMetrics: {"p", "m", 4, 3, 50, 1},
		embeddingMetrics + `evalctl_embedding_tokens_total{model="n",provider="p"} 50` + "\n": {},
		"other_total 3\n": {}, "<html>": {}, "": {}, "evalctl_embedded_texts_total{from=\"model\"} 4\n": {},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, body)
		}))
		e, err := NewEndpoint(srv.URL, "", "test", 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := e.Embeddings(t.Context()); got != want || ok != (want.Model != "") {
			t.Errorf("%s: got %+v, %v", body, got, ok)
		}
		e.Close()
		srv.Close()
	}
	e, err := NewEndpoint("http://127.0.0.1:1", "", "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := e.Embeddings(t.Context()); ok {
		t.Errorf("without a daemon: %+v", got)
	}
}
