package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"evalctl/daemon/protocol"
)

// bigBatch is the largest batch: 1,024 ops of 8 KiB.
func bigBatch() string {
	content := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("Ana lives. ", 745)[:protocol.MaxBatchBytes/protocol.MaxBatchOps]))
	ops := make([]string, protocol.MaxBatchOps)
	for i := range ops {
		ops[i] = fmt.Sprintf(`{"type":"write","path":"notes/%d.md","content_base64":%q}`, i, content)
	}
	return `{"reason":"benchmark","ops":[` + strings.Join(ops, ",") + `]}`
}

// BenchmarkDecodeBatch compares decoding the largest batch with encoding/json alone, which does not
// check it.
func BenchmarkDecodeBatch(b *testing.B) {
	body := []byte(bigBatch())
	b.Run("daemon", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if c, err := decodeBatch(bytes.NewReader(body)); err != nil || len(c.Ops) != protocol.MaxBatchOps {
				b.Fatal(len(c.Ops), err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var batch protocol.Batch
			if err := json.Unmarshal(body, &batch); err != nil || len(batch.Ops) != protocol.MaxBatchOps {
				b.Fatal(len(batch.Ops), err)
			}
		}
	})
}
