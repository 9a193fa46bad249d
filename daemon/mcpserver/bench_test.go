//go:build unix

package mcpserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/mcpclient"
	"evalctl/daemon/protocol"
	"evalctl/internal/heap"
)

// median returns the middle of some durations.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// cpu returns the processor time that this process has used, including the system's for it.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSearch compares a search by a tool with the HTTP request that it sends, in turns. The
// tool also asks for the default brain.
func BenchmarkSearch(b *testing.B) {
	for transport := range transports {
		b.Run(transport, func(b *testing.B) {
			url, _ := startDaemon(b, daemon.Config{Home: b.TempDir()})
			c := connect(b, transport, url)
			call(b, c, "memory_create_brain", object{"name": "notes"})
			for i := range 200 {
				call(b, c, "memory_remember", object{"content": fmt.Sprintf("# Note %d\n\nAna drinks tea number %d.", i, i)})
			}
			direct := newClient(b, url).Brain("notes")
			var tool, peer []time.Duration
			for b.Loop() {
				start := time.Now()
				if r := call(b, c, "memory_search", object{"query": "Which tea does Ana drink?"}); r.Failure != nil {
					b.Fatal(r.Failure)
				}
				tool = append(tool, time.Since(start))
				start = time.Now()
				if _, err := direct.Search(b.Context(), protocol.SearchRequest{Query: "Which tea does Ana drink?", TopK: 10}); err != nil {
					b.Fatal(err)
				}
				peer = append(peer, time.Since(start))
			}
			t, p := median(tool), median(peer)
			b.ReportMetric(float64(t.Microseconds()), "µs/tool")
			b.ReportMetric(float64(p.Microseconds()), "µs/peer")
			b.ReportMetric(float64((t - p).Microseconds()), "µs/above")
		})
	}
}

// BenchmarkRemember stores notes in files, with one client that waits for each reply (stdio), one
// with 8 calls at a time, 8 clients of the SDK over HTTP, and 8 that send the same requests without
// an SDK. The peer is 8 clients of the HTTP API. The processor time is that of the daemon and the
// clients together, without the server on stdio.
func BenchmarkRemember(b *testing.B) {
	defer heap.HoldSpare()() // as the commands do
	for _, tc := range []struct {
		name           string
		remember       func(b *testing.B, url string) func(n int64) error
		clients, calls int
	}{
		{"stdio-sequential", overMCP("stdio"), 1, 1}, {"stdio-8-calls", overMCP("stdio"), 1, 8},
		{"http-8-clients", overMCP("http"), 8, 1}, {"http-8-plain", posted, 8, 1},
		{"peer-8-clients", created, 8, 1},
	} {
		b.Run(tc.name, func(b *testing.B) {
			url, _ := startDaemon(b, daemon.Config{Home: b.TempDir()})
			if _, err := newClient(b, url).CreateBrain(b.Context(), protocol.CreateBrain{Name: "notes"}); err != nil {
				b.Fatal(err)
			}
			var clients []func(int64) error
			for range tc.clients {
				clients = append(clients, tc.remember(b, url))
			}
			var next atomic.Int64
			var all sync.WaitGroup
			used := cpu(b)
			b.ResetTimer()
			for i := range tc.clients * tc.calls {
				all.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						if err := clients[i%tc.clients](n); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
			b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(b.N), "µs-cpu/note")
		})
	}
}

func numberedNote(n int64) protocol.CreateDocument {
	return protocol.CreateDocument{
		Content: fmt.Sprintf("# Note %d\n\nAna drinks tea number %d.", n, n), Path: fmt.Sprintf("notes/%d.md", n),
	}
}

// overMCP returns clients of the SDK.
func overMCP(transport string) func(*testing.B, string) func(int64) error {
	return func(b *testing.B, url string) func(int64) error {
		c := connect(b, transport, url)
		return func(n int64) error {
			note := numberedNote(n)
			r, err := c.Call(b.Context(), "memory_remember", object{"content": note.Content, "path": note.Path}, nil)
			if err == nil && r.Failure != nil {
				err = fmt.Errorf("%+v", *r.Failure)
			}
			return err
		}
	}
}

// posted returns a client that sends a call as it is on the wire, and only looks for its success.
func posted(b *testing.B, url string) func(int64) error {
	transport := &http.Transport{}
	b.Cleanup(transport.CloseIdleConnections)
	return func(n int64) error {
		note := numberedNote(n)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_remember",`+
			`"arguments":{"content":%q,"path":%q}}}`, n, note.Content, note.Path)
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		res, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err == nil && !bytes.Contains(data, []byte(`"checksum_sha256"`)) {
			err = fmt.Errorf("status %d: %s", res.StatusCode, data)
		}
		return err
	}
}

// created returns a client of the HTTP API.
func created(b *testing.B, url string) func(int64) error {
	notes := newClient(b, url).Brain("notes")
	return func(n int64) error {
		_, err := notes.CreateDocument(b.Context(), numberedNote(n))
		return err
	}
}

// BenchmarkFirstDelta measures the time from when the daemon sends the first delta until it reaches
// the client.
func BenchmarkFirstDelta(b *testing.B) {
	for transport := range transports {
		b.Run(transport, func(b *testing.B) {
			var sent atomic.Int64
			url := asking(b, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, "event: retrieve\ndata: {\"chunks\":[]}\n\n")
				sent.Store(time.Now().UnixNano())
				fmt.Fprint(w, "event: answer_delta\ndata: {\"delta\":\"Green\"}\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(2 * time.Millisecond) // the model goes on
				fmt.Fprint(w, "event: done\ndata: {\"ok\":true,\"answer\":\"Green\"}\n\n")
			})
			c := connect(b, transport, url)
			var took []time.Duration
			for b.Loop() {
				_, err := c.Call(b.Context(), "memory_ask", object{"query": "x"}, func(mcpclient.Progress) {
					took = append(took, time.Duration(time.Now().UnixNano()-sent.Load()))
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(median(took).Microseconds()), "µs/first-delta")
			b.ReportMetric(float64(slices.Max(took).Microseconds()), "µs/slowest")
		})
	}
}
