package httpapi

import (
	"context"
	"encoding/base64"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/awaittest"
)

// quotaStore takes the changes of clients, and has no space left for the deletions that follow.
type quotaStore struct {
	*store.Store
	full atomic.Bool
}

func (q *quotaStore) List(ctx context.Context, dir string) ([]store.FileInfo, error) {
	return q.Store.List(ctx, dir, store.ListOptions{Recursive: true, IncludeGenerated: true})
}

func (q *quotaStore) Commit(ctx context.Context, c store.Commit) error {
	if q.full.Load() && strings.HasPrefix(c.Reason, "delete what was made") {
		return syscall.ENOSPC
	}
	return q.Apply(ctx, c)
}

// TestCommittedChangeSucceeds: a client hears that its change was made, even if what follows from
// it cannot be stored yet. That is done as soon as it can be.
func TestCommittedChangeSucceeds(t *testing.T) {
	t.Parallel()
	const (
		docs = "/v1/brains/eval/documents"
		talk = "---\nsource: extract\n---\nI have a sister in Paris."
	)
	ops := `{"reason":"r","ops":[{"type":"append","path":"log.md","content_base64":"YQ=="},` +
		`{"type":"write","path":"talk.md","content_base64":"` + base64.StdEncoding.EncodeToString([]byte(talk)) + `"}]}`
	for name, tt := range map[string]struct {
		method, target, contentType, body string
		status                            int
		gone                              string
	}{
		"write":  {"PUT", docs + "?path=talk.md", protocol.TypeBytes, talk, 204, ""},
		"rename": {"POST", docs + "/rename", protocol.TypeJSON, `{"from":"lima.md","to":"talk.md"}`, 204, "lima.md"},
		"batch":  {"POST", docs + "/batch-ops", protocol.TypeJSON, ops, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &quotaStore{Store: memstore.Open(nil)}
			s := serve(t, nil, brain.Config{OpenStore: func(context.Context, brain.Record) (*store.Store, error) {
				return store.New(q, nil), nil
			}}, fakeReader())
			s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
			s.put(t, "lima.md", "---\nsource: extract\n---\nI have a brother in Lima.")
			awaittest.Until(t, "the first facts", func() bool { return strings.Contains(s.facts(t), "lima.md") })
			q.full.Store(true)
			s.expect(t, tt.status, tt.method, tt.target, tt.body, "Content-Type", tt.contentType)
			q.full.Store(false)
			awaittest.Until(t, "the facts of the present text", func() bool {
				facts := s.facts(t)
				return strings.Contains(facts, "talk.md") && (tt.gone == "" || !strings.Contains(facts, tt.gone))
			})
		})
	}
}
