package httpapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

// TestDeadlines: a request whose store is not open in time, and a batch that waits for other
// writes, are ended with the status and the code of spec 7.1. They work once the obstacle is gone.
func TestDeadlines(t *testing.T) {
	const (
		batch = `{"reason":"r","ops":[{"type":"write","path":"a.md","content_base64":""}]}`
		docs  = "/v1/brains/eval/documents"
	)
	opened := make(chan struct{})
	m := fakeReader()
	s := serve(t, nil, brain.Config{OpenStore: func(context.Context, brain.Record) (*store.Store, error) {
		<-opened
		return memstore.Open(nil), nil
	}}, m)
	s.api.deadline = 50 * time.Millisecond
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	timesOut := func(method, target, body, detail string) {
		t.Helper()
		got := s.expect(t, 504, method, target, body, "Content-Type", "application/json")
		if !strings.Contains(got, `"code":"timeout"`) || !strings.Contains(got, detail) {
			t.Errorf("%s %s: %s", method, target, got)
		}
	}
	for range 2 { // the second one waits for the first one
		timesOut("GET", eventsPath, "", "not opened within 50ms")
		timesOut("POST", docs+"/batch-ops", batch, "not opened within 50ms")
	}
	s.expect(t, 200, "GET", "/v1/brains/eval", "") // which does not need the documents
	for _, rt := range routes {
		if !rt.ofBrain() || !rt.needsStore() {
			continue
		}
		target := strings.NewReplacer("{id}", "eval", "{", "", "}", "").Replace(rt.path())
		if rt.method() == "HEAD" {
			s.expect(t, 504, "HEAD", target, "")
		} else {
			timesOut(rt.method(), target, "{}", "not opened within 50ms")
		}
	}
	close(opened)
	s.api.deadline = time.Minute
	attach(t, s).close()

	st := s.open(t, "eval")
	writing, written := make(chan struct{}), make(chan struct{})
	cancel := st.Subscribe(func(store.ChangeEvent) {
		writing <- struct{}{}
		<-writing
	})
	go func() {
		defer close(written)
		err := st.Batch(context.Background(), store.BatchOptions{}, func(b *store.Batch) error {
			return b.Write(context.Background(), "b.md", nil)
		})
		if err != nil {
			t.Error(err)
		}
	}()
	awaittest.Receive(t, "writing", writing) // holds the write lock from now on
	s.api.deadline = 50 * time.Millisecond
	timesOut("POST", docs+"/batch-ops", batch, "nothing was changed")
	s.expect(t, 404, "GET", docs+"/stat?path=a.md", "")
	cancel()
	writing <- struct{}{}
	awaittest.Receive(t, "written", written)
	s.api.deadline = time.Minute
	s.expect(t, 200, "POST", docs+"/batch-ops", batch, "Content-Type", "application/json")
}

// unsureStore says of each commit, after a time limit of its own, that the outcome is unknown.
type unsureStore struct{ blockedStore }

func (*unsureStore) Stat(context.Context, string) (store.FileInfo, error) {
	return store.FileInfo{}, store.ErrNotFound
}

func (*unsureStore) Commit(context.Context, store.Commit) error {
	return store.Unavailable(context.DeadlineExceeded, "the outcome is unknown")
}

// TestDeadlineOfTheStore: the daemon does not say that nothing was changed if the store does not
// know.
func TestDeadlineOfTheStore(t *testing.T) {
	s := serve(t, nil, brain.Config{OpenStore: func(context.Context, brain.Record) (*store.Store, error) {
		return store.New(&unsureStore{}, nil), nil
	}}, fakeReader())
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	got := s.expect(t, 503, "POST", "/v1/brains/eval/documents/batch-ops",
		`{"reason":"r","ops":[{"type":"append","path":"a.md","content_base64":""}]}`, "Content-Type", protocol.TypeJSON)
	if !strings.Contains(got, `"detail":"the outcome is unknown"`) {
		t.Errorf("got %s", got)
	}
}
