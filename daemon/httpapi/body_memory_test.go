package httpapi

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

// stalling reports to again when a body has passed on what has arrived and is read again.
type stalling struct {
	io.ReadCloser
	arrived int // bytes that the client sends
	again   chan<- struct{}
}

func (w *stalling) Read(p []byte) (int, error) {
	if w.arrived <= 0 {
		w.again <- struct{}{}
	}
	n, err := w.ReadCloser.Read(p)
	w.arrived -= n
	return n, err
}

// TestPromisedBodies: clients that announce large bodies and send a few bytes occupy memory for
// these bytes only.
func TestPromisedBodies(t *testing.T) {
	const (
		clients = 200
		arrived = 133
		most    = 64 << 10 // bytes of a client, with both ends of its connection
		docs    = "/v1/brains/eval/documents"
		js      = "application/json"
	)
	s := startFake(t)
	again := make(chan struct{}, clients)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = &stalling{r.Body, arrived, again}
		s.api.ServeHTTP(w, r)
	}))
	defer srv.Close()
	random := ""
	for len(random) < arrived {
		random += rand.Text()
	}
	random = zip(t, []byte(random+random))
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\n"
	for _, tt := range []struct {
		name, request, header string
		begin                 string
		promised              int
	}{
		{"write", "PUT " + docs + "?path=a.md", octets, "", protocol.MaxWriteBytes},
		{"append", "POST " + docs + "/append?path=a.md", octets, "", protocol.MaxWriteBytes},
		{"compressed", "PUT " + docs + "?path=a.md", octets + "\r\nContent-Encoding: gzip", random[:arrived], protocol.MaxWriteBytes},
		{"batch", "POST " + docs + "/batch-ops", js, `{"reason":"r","ops":[{"type":"write","path":"a","content_base64":"`, maxBatchBody},
		{"record", "POST " + docs, js, `{"content":"`, maxRecordBody},
		{"question", "POST /v1/brains/eval/search", js, `{"query":"`, maxJSONBytes},
		{"form", "POST " + docs + "/ingest/file", typeForm + "; boundary=b", form, maxFormBody},
		{"base64", "POST " + docs + "/ingest/file", js, `{"path":"a.md","content_base64":"`, maxIngestJSON},
		{"mcp", "POST /mcp", js, `{"jsonrpc":"2.0","method":"`, maxRecordBody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()
			for range clients {
				c, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
					tt.request, tt.header, tt.promised, tt.begin+strings.Repeat("A", arrived-len(tt.begin)))
			}
			for range clients {
				awaittest.Receive(t, "again", again)
			}
			if used := heap() - before; used > clients*most {
				t.Errorf("%d clients that sent %d bytes each occupy %d KiB", clients, arrived, used>>10)
			}
		})
	}
}

// heap returns the bytes of all live objects.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
