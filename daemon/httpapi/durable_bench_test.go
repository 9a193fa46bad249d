package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

// BenchmarkDurable writes documents of 1 KiB to one brain on a disk: from one client, one per request
// and 1,024 per request, and from 16 clients, and has a bare log to compare with. TMPDIR selects the
// disk.
func BenchmarkDurable(b *testing.B) {
	dir := b.TempDir()
	s := serve(b, nil, brain.Config{
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return fsstore.Open(ctx, filepath.Join(dir, r.Brain.ID), nil)
		},
	}, fakeReader())
	s.expect(b, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	text := strings.Repeat("Ana lives. ", 94)[:1024]
	perSecond := func(b *testing.B, documents int) {
		b.ReportMetric(float64(documents*b.N)/b.Elapsed().Seconds(), "documents/s")
	}
	s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 16
	log := storetest.NewBareLog(b)
	for _, clients := range []int{1, 16} {
		b.Run(fmt.Sprintf("put/%d", clients), func(b *testing.B) {
			share(b, clients, func(i int) { s.put(b, fmt.Sprintf("%d/%d/%d.md", clients, i%64, i), text) })
			perSecond(b, 1)
		})
		b.Run(fmt.Sprintf("log/%d", clients), func(b *testing.B) {
			share(b, clients, func(int) {
				if err := log.Append([]byte(text)); err != nil {
					b.Error(err)
				}
			})
			perSecond(b, 1)
		})
	}
	b.Run("batch-ops", func(b *testing.B) {
		const ops = 1024
		content := base64.StdEncoding.EncodeToString([]byte(text))
		for i := 0; b.Loop(); i++ {
			var body strings.Builder
			body.WriteString(`{"reason":"benchmark","ops":[`)
			for n := range ops {
				if n > 0 {
					body.WriteByte(',')
				}
				fmt.Fprintf(&body, `{"type":"write","path":"batch/%d/%d.md","content_base64":"%s"}`, i, n, content)
			}
			body.WriteString("]}")
			s.expect(b, 200, "POST", "/v1/brains/eval/documents/batch-ops", body.String(), "Content-Type", "application/json")
		}
		perSecond(b, ops)
	})
}

// share divides b.N calls among clients.
func share(b *testing.B, clients int, call func(i int)) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range clients {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				call(int(i))
			}
		})
	}
	all.Wait()
	b.StopTimer()
}
