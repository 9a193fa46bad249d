package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// blockedStore is a store whose documents of 1 MiB in its listing are read one at a time. Each read
// waits for a token of proceed.
type blockedStore struct {
	store.Backend
	proceed chan struct{}
}

func (b *blockedStore) List(_ context.Context, dir string) (list []store.FileInfo, err error) {
	if dir != "" {
		return nil, store.ErrNotFound
	}
	for i := range 3 {
		list = append(list, store.FileInfo{Path: fmt.Sprintf("d%d.md", i), Size: 1 << 20, ModTime: epoch})
	}
	return list, nil
}

func (b *blockedStore) Stat(_ context.Context, path string) (store.FileInfo, error) {
	return store.FileInfo{Path: path, Size: 1 << 20, ModTime: epoch}, nil
}

func (b *blockedStore) Read(ctx context.Context, path string) ([]byte, error) {
	if !strings.HasPrefix(path, "d") {
		return nil, store.ErrNotFound // of a session
	}
	select {
	case <-b.proceed:
		return []byte("the walrus of " + path), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (*blockedStore) Commit(context.Context, store.Commit) error { return nil }
func (*blockedStore) Close() error                               { return nil }

// startBlocked starts a server with a brain eval on a blockedStore, and searches that wait for
// nothing. If ready is set, the index is built first.
func startBlocked(t *testing.T, ready bool) (*server, *blockedStore) {
	b := &blockedStore{proceed: make(chan struct{}, 100)}
	cfg := brain.Config{
		IndexConfig: brain.IndexConfig{SearchWait: time.Millisecond},
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) {
			return store.New(b, nil), nil
		},
	}
	s := serve(t, nil, cfg, fakeReader())
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	if ready {
		for range 3 {
			b.proceed <- struct{}{}
		}
		s.awaitIndex(t)
	}
	return s, b
}

// awaitIndex searches until the index has everything.
func (s *server) awaitIndex(t *testing.T) {
	t.Helper()
	for {
		res := s.do(t, "GET", "/v1/brains/eval/search?q=walrus", "")
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == 200 && !strings.Contains(string(body), `"indexing"`) {
			return
		}
		if res.StatusCode != 200 && res.StatusCode != 503 {
			t.Fatalf("%d %s", res.StatusCode, body)
		}
	}
}

// retrievals are the requests that search, as method, path and body.
var retrievals = [][3]string{
	{"POST", "/v1/brains/eval/search", `{"query":"walrus"}`},
	{"GET", "/v1/brains/eval/search?q=walrus", ""},
	{"POST", "/v1/brains/eval/ask", `{"question":"walrus"}`},
	{"POST", "/v1/brains/eval/sessions/s/recall", `{"query":"walrus"}`},
}

// TestUnreadyBrain: while the index of a brain is built, every retrieval is answered soon, with how
// far the index is. The build goes on although all clients have left.
func TestUnreadyBrain(t *testing.T) {
	s, b := startBlocked(t, false)
	done := 0
	for range 3 {
		for _, r := range retrievals {
			res := s.do(t, r[0], r[1], r[2])
			var p protocol.Problem
			err := json.NewDecoder(res.Body).Decode(&p)
			res.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if p.Indexing == nil || p.Indexing.DocumentsTotal == 0 { // not listed yet
				p.Indexing = &protocol.Indexing{DocumentsTotal: 3, BytesTotal: 3 << 20}
				p.Pending = 3
			}
			if p.Indexing.DocumentsDone < done {
				t.Errorf("%s %s: %d documents after %d", r[0], r[1], p.Indexing.DocumentsDone, done)
			}
			done = p.Indexing.DocumentsDone
			want := protocol.Problem{
				Status: 503, Title: "Not searchable yet", Code: protocol.CodeIndexing, Detail: p.Detail, Pending: 3 - done,
				Indexing: &protocol.Indexing{DocumentsDone: done, DocumentsTotal: 3, BytesDone: int64(done) << 20, BytesTotal: 3 << 20},
			}
			if diff := cmp.Diff(want, p); diff != "" || res.StatusCode != 503 || res.Header.Get("Retry-After") != "1" {
				t.Errorf("%s %s: %d, %v: %s", r[0], r[1], res.StatusCode, res.Header, diff)
			}
		}
		if done < 2 {
			b.proceed <- struct{}{}
		}
	}
	got := s.expect(t, 200, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search",`+
		`"arguments":{"query":"walrus","brain":"eval"}}}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	if !strings.Contains(got, `"code":"indexing"`) || !strings.Contains(got, `"retryable":true`) || !strings.Contains(got, `"isError":true`) {
		t.Errorf("the tool returned %s", got)
	}
	for range 3 {
		b.proceed <- struct{}{}
	}
	s.awaitIndex(t)
}

// TestSearchesDuringIngest: while the index reads what was written, searches are answered with what
// it has, and say so.
func TestSearchesDuringIngest(t *testing.T) {
	s, b := startBlocked(t, true)
	s.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=d1.md", "new", "Content-Type", protocol.TypeBytes)
	const mark = `"indexing":{"documents_done":0,"documents_total":1,"bytes_done":0,"bytes_total":0}`
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for _, r := range retrievals {
				got := s.expect(t, 200, r[0], r[1], r[2])
				if !strings.Contains(got, mark) || !strings.Contains(got, "d0.md") {
					t.Errorf("%s %s: %s", r[0], r[1], got)
				}
			}
			got := `"code":"indexing"`
			for strings.Contains(got, `"code":"indexing"`) { // opening the documents may take longer than a search waits
				got = s.expect(t, 200, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search",`+
					`"arguments":{"query":"walrus","brain":"eval"}}}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
			}
			if !strings.Contains(got, mark) || !strings.Contains(got, "1 documents that were written last are not indexed") {
				t.Errorf("the tool returned %s", got)
			}
		})
	}
	clients.Wait()
	b.proceed <- struct{}{}
	s.awaitIndex(t)
}

// TestStopDuringBuild: a daemon can be stopped while an index is built.
func TestStopDuringBuild(t *testing.T) {
	s, _ := startBlocked(t, false)
	s.expect(t, 503, "POST", "/v1/brains/eval/search", `{"query":"walrus"}`)
}
