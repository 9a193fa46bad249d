package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

// BenchmarkPut compares a write with a handler that only reads the body.
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

// BenchmarkRead compares a read with a handler that only writes bytes.
func BenchmarkRead(b *testing.B) {
	s := startFake(b)
	text := strings.Repeat("Ana lives. ", 94)[:1024]
	s.put(b, "notes/a.md", text)
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		io.WriteString(w, text)
	}))
	b.Cleanup(bare.Close)
	for name, url := range map[string]string{"daemon": s.url, "bare": bare.URL} {
		b.Run(name, func(b *testing.B) {
			to := &server{url: url, client: s.client}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				to.expect(b, 200, "GET", "/v1/brains/eval/documents/read?path=notes/a.md", "")
			}
		})
	}
}

// BenchmarkList lists as many documents as one listing may have.
func BenchmarkList(b *testing.B) {
	s := startFake(b)
	for from := 0; from < protocol.MaxListItems; from += 1000 {
		ops := make([]string, 1000)
		for i := range ops {
			ops[i] = fmt.Sprintf(`{"type":"write","path":"d%d/n%d.md","content_base64":"QW5h"}`, from/1000, from+i)
		}
		s.expect(b, 200, "POST", "/v1/brains/eval/documents/batch-ops", `{"reason":"benchmark","ops":[`+strings.Join(ops, ",")+`]}`,
			"Content-Type", "application/json")
	}
	for b.Loop() {
		if list := s.expect(b, 200, "GET", "/v1/brains/eval/documents?dir=&recursive=true", ""); len(list) < 100_000 {
			b.Fatal(len(list))
		}
	}
}
