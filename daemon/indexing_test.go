package daemon_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/protocol"
)

// TestSearchesDuringIngest writes batches while a client searches, on every store. Each search is
// answered: it has found what was indexed then, or says how far the index is.
func TestSearchesDuringIngest(t *testing.T) {
	const batches, batchDocs = 3, 400
	for _, kind := range []string{daemon.StoreMemory, daemon.StoreFS, daemon.StoreGit, daemon.StorePostgres} {
		t.Run(kind, func(t *testing.T) {
			cfg := configOf(t, kind)
			cfg.SearchWait = time.Millisecond
			d := serve(t, cfg)
			d.expect(t, 201, "POST", "/v1/brains", protocol.TypeJSON, `{"id":"eval"}`)
			d.search(t)
			var client sync.WaitGroup
			written := make(chan struct{})
			client.Go(func() {
				for {
					d.search(t)
					select {
					case <-written:
						return
					default:
					}
				}
			})
			for n := range batches {
				d.expect(t, 200, "POST", "/v1/brains/eval/documents/batch-ops", protocol.TypeJSON, batchOf(n, batchDocs))
			}
			close(written)
			client.Wait()
			d.findAll(t, batches)
			if kind == daemon.StoreMemory {
				return
			}
			d.expect(t, 200, "POST", "/v1/brains/eval/documents/batch-ops", protocol.TypeJSON, batchOf(batches, batchDocs))
			if err := d.stop(); err != nil { // while the index reads the last batch
				t.Fatal(err)
			}
			d = serve(t, cfg)
			for i := 0; !d.search(t); i++ {
				if i == 2 { // while the index is built, unless it is by now
					if err := d.stop(); err != nil {
						t.Fatal(err)
					}
					d = serve(t, cfg)
				}
			}
			d.findAll(t, batches+1)
		})
	}
}

// batchOf is the body of a batch that writes n documents with the word walrus.
func batchOf(batch, n int) string {
	ops := make([]map[string]string, n)
	for i := range ops {
		text := fmt.Sprintf("The walrus %d of batch %d. %s", i, batch, strings.Repeat("It is resting on the ice. ", 20))
		ops[i] = map[string]string{
			"type": "write", "path": fmt.Sprintf("b%d/d%d.md", batch, i),
			"content_base64": base64.StdEncoding.EncodeToString([]byte(text)),
		}
	}
	data, _ := json.Marshal(map[string]any{"ops": ops})
	return string(data)
}

// search reports whether a search has seen all documents. It fails the test unless the answer is
// one of those that are allowed while an index is being built.
func (r running) search(t *testing.T) (complete bool) {
	t.Helper()
	res := r.open(t, "POST", "/v1/brains/eval/search", protocol.TypeJSON, `{"query":"walrus ice"}`)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	var got struct {
		Code     string             `json:"code"`
		Indexing *protocol.Indexing `json:"indexing"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Errorf("%v: %s", err, data)
	}
	if p := got.Indexing; p != nil && (p.DocumentsDone > p.DocumentsTotal || p.BytesDone > p.BytesTotal) {
		t.Errorf("got %+v", *p)
	}
	switch {
	case res.StatusCode == http.StatusOK:
		return got.Indexing == nil
	case res.StatusCode != http.StatusServiceUnavailable || got.Code != protocol.CodeIndexing || res.Header.Get("Retry-After") == "":
		t.Errorf("got %d %v %s", res.StatusCode, res.Header, data)
	}
	return false
}

// findAll waits until the index has all batches, and looks into each.
func (r running) findAll(t *testing.T, batches int) {
	t.Helper()
	for !r.search(t) {
	}
	for batch := range batches {
		query := fmt.Sprintf(`{"query":"\"batch %d\"","top_k":100}`, batch)
		got := r.expect(t, 200, "POST", "/v1/brains/eval/search", protocol.TypeJSON, query)
		if n := strings.Count(got, fmt.Sprintf(`"path":"b%d/`, batch)); n != 100 {
			t.Errorf("found %d documents of batch %d", n, batch)
		}
	}
}
