//go:build unix

package mcpserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/mcpclient"
	"evalctl/daemon/protocol"
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
// with 8 calls at a time, and 8 clients over HTTP. The peer is 8 clients of the HTTP API. The
// processor time is that of the daemon and the clients together, without the server on stdio.
func BenchmarkRemember(b *testing.B) {
	content := func(n int64) object {
		return object{"content": fmt.Sprintf("# Note %d\n\nAna drinks tea number %d.", n, n), "path": fmt.Sprintf("notes/%d.md", n)}
	}
	for _, tc := range []struct {
		name, transport string
		clients, calls  int
	}{
		{"stdio-sequential", "stdio", 1, 1}, {"stdio-8-calls", "stdio", 1, 8}, {"http-8-clients", "http", 8, 1},
		{"peer-8-clients", "", 8, 1},
	} {
		b.Run(tc.name, func(b *testing.B) {
			url, _ := startDaemon(b, daemon.Config{Home: b.TempDir()})
			direct := newClient(b, url)
			if _, err := direct.CreateBrain(b.Context(), protocol.CreateBrain{Name: "notes"}); err != nil {
				b.Fatal(err)
			}
			var clients []*mcpclient.Client
			for range tc.clients {
				if tc.transport != "" {
					clients = append(clients, connect(b, tc.transport, url))
				}
			}
			var next atomic.Int64
			var all sync.WaitGroup
			used := cpu(b)
			b.ResetTimer()
			for i := range tc.clients * tc.calls {
				all.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						args := content(n)
						if tc.transport == "" {
							_, err := direct.Brain("notes").CreateDocument(b.Context(), protocol.CreateDocument{
								Content: args["content"].(string), Path: args["path"].(string),
							})
							if err != nil {
								b.Error(err)
							}
							continue
						}
						r, err := clients[i%tc.clients].Call(b.Context(), "memory_remember", args, nil)
						if err != nil || r.Failure != nil {
							b.Error(r.Failure, err)
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
