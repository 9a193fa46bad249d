package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkPut compares a write with the least a server can do with it.
func BenchmarkPut(b *testing.B) {
	s := startFake(b)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	b.Cleanup(bare.Close)
	text := strings.Repeat("Ana lives. ", 94)[:1024]
	for name, url := range map[string]string{"daemon": s.url, "bare": bare.URL} {
		b.Run(name, func(b *testing.B) {
			to := &server{url: url, client: s.client}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				to.put(b, "notes/a.md", text)
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	s := startFake(b)
	for i := range 1000 {
		s.put(b, fmt.Sprintf("n%d.md", i), fmt.Sprintf("Note %d says that number %d lives in street %d of Oslo.", i, i*7, i%50))
	}
	s.expect(b, 200, "GET", "/v1/brains/eval/search?q=oslo", "") // builds the index
	for b.Loop() {
		s.expect(b, 200, "POST", "/v1/brains/eval/search", `{"query":"who lives in street 17","top_k":10}`)
	}
}
