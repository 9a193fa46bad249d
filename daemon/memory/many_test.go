package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

// countedBackend counts calls, as a server's backend has round trips.
type countedBackend struct {
	st    *store.Store
	calls atomic.Int64
}

func (b *countedBackend) Read(ctx context.Context, path string) ([]byte, error) {
	b.calls.Add(1)
	return b.st.Read(ctx, path)
}

func (b *countedBackend) ReadMany(ctx context.Context, paths []string, _ int) ([]store.Document, error) {
	b.calls.Add(1)
	return b.st.ReadMany(ctx, filesAt(paths...))
}

func (b *countedBackend) Stat(ctx context.Context, path string) (store.FileInfo, error) {
	b.calls.Add(1)
	return b.st.Stat(ctx, path)
}

func (b *countedBackend) List(ctx context.Context, dir string) ([]store.FileInfo, error) {
	b.calls.Add(1)
	return b.st.List(ctx, dir, store.ListOptions{Recursive: true, IncludeGenerated: true})
}

func (b *countedBackend) Commit(ctx context.Context, c store.Commit) error { return b.st.Apply(ctx, c) }

func (b *countedBackend) Close() error { return nil }

// TestReadsManyAtOnce: how often operations on all of something use the store does not depend on
// how much there is of it.
func TestReadsManyAtOnce(t *testing.T) {
	const many, most = 120, 20
	b := &countedBackend{st: memstore.Open(nil)}
	brains := func() brain.Config {
		return brain.Config{
			Catalog:   new(brain.MemoryCatalog),
			OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return store.New(b, nil), nil },
		}
	}
	f := openWith(t, brains(), Config{})
	for i := range many {
		f.putFacts(t, fmt.Sprint("s", i), mayDay(1), fact{Text: fmt.Sprint("Fact ", i)})
		f.ingestFile(t, fmt.Sprintf("f%d.txt", i), fmt.Sprint("file ", i))
		f.say(t, fmt.Sprint("session", i), final("something"))
	}
	f.extracted(t)
	f.shutDown(t)

	f = openWith(t, brains(), Config{})
	ctx := t.Context()
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"the first ingest", func() error {
			_, err := f.IngestFile(ctx, f.brain, protocol.IngestFile{Path: "new.txt", Content: []byte("new")})
			return err
		}},
		{"documents", func() error {
			list, err := f.Documents(ctx, f.brain, DocumentPage{Limit: many})
			if len(list.Items) != many {
				t.Errorf("%d documents", len(list.Items))
			}
			return err
		}},
		{"consolidate", func() error {
			_, err := f.Consolidate(ctx, f.brain, protocol.ConsolidateRequest{DryRun: true})
			return err
		}},
	} {
		before := b.calls.Load()
		if err := op.do(); err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
		if calls := b.calls.Load() - before; calls > most {
			t.Errorf("%s: %d calls, want at most %d", op.name, calls, most)
		}
	}
}
