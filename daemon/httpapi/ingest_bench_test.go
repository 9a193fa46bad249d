package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

// BenchmarkIngest ingests 1,000 files of 1 KiB as forms, from 8 clients, to a disk, and compares
// that with PUTs of the same files. TMPDIR selects the disk.
func BenchmarkIngest(b *testing.B) {
	const files, clients = 1000, 8
	text := strings.Repeat("Ana lives in Lima. ", 60)[:1024]
	for _, kind := range []string{"md", "txt", "put"} {
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			s := serve(b, nil, brain.Config{
				OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
					return fsstore.Open(ctx, filepath.Join(dir, r.Brain.ID), nil)
				},
			}, fakeReader())
			s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = clients
			var took time.Duration
			for round := 0; b.Loop(); round++ {
				b.StopTimer()
				id := fmt.Sprintf("eval%d", round)
				s.expect(b, 201, "POST", "/v1/brains", `{"id":"`+id+`"}`)
				bodies, types := make([]string, files), make([]string, files)
				for i := range files {
					bodies[i], types[i] = form(b, fmt.Sprintf("file f%d.%s", i, kind), fmt.Sprintf("%s %d", text, i))
				}
				b.StartTimer()
				start := time.Now()
				var wg sync.WaitGroup
				for c := range clients {
					wg.Go(func() {
						for i := c; i < files; i += clients {
							if kind == "put" {
								s.expect(b, 204, "PUT", fmt.Sprintf("/v1/brains/%s/documents?path=raw/documents/f%d.md", id, i),
									text, "Content-Type", octets)
								continue
							}
							s.expect(b, 201, "POST", "/v1/brains/"+id+"/documents/ingest/file", bodies[i], "Content-Type", types[i])
						}
					})
				}
				wg.Wait()
				took += time.Since(start)
			}
			b.ReportMetric(float64(files*b.N)/took.Seconds(), "files/s")
		})
	}
}
