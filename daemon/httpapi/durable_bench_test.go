package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

// BenchmarkDurable writes documents of 1 KiB to a disk, from one client: one per request, and 1,024
// per request. TMPDIR selects the disk.
func BenchmarkDurable(b *testing.B) {
	s := serve(b, nil, brain.Config{
		OpenStore: func(ctx context.Context, id string) (*store.Store, error) {
			return fsstore.Open(ctx, filepath.Join(b.TempDir(), id), nil)
		},
	}, fakeReader())
	s.expect(b, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	text := strings.Repeat("Ana lives. ", 94)[:1024]
	perSecond := func(b *testing.B, documents int) {
		b.ReportMetric(float64(documents*b.N)/b.Elapsed().Seconds(), "documents/s")
	}
	b.Run("put", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s.put(b, fmt.Sprintf("notes/%d.md", i), text)
		}
		perSecond(b, 1)
	})
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
