package brain

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

// partBytes is the size in a listing that makes a document a part of its own.
const partBytes = 1 << 20

// steppedBackend has documents of a part each, which are read one at a time, on request.
type steppedBackend struct {
	slowBackend
}

func (b *steppedBackend) List(ctx context.Context, dir string) ([]store.FileInfo, error) {
	list, err := b.slowBackend.List(ctx, dir)
	for i := range list {
		list[i].Size, list[i].ModTime = partBytes, epoch
	}
	return list, err
}

// step lets one document be read, and returns when the index has it and waits for the next one.
func (b *steppedBackend) step() {
	<-b.reading
	b.proceed <- struct{}{}
	synctest.Wait()
}

// openStepped opens a brain with n documents, in each of which there is a walrus.
func openStepped(t *testing.T, n int, set func(*Config)) (*Service, *steppedBackend) {
	b := &steppedBackend{slowBackend{
		docs: map[string][]byte{}, reading: make(chan string, 8), proceed: make(chan struct{}),
	}}
	for i := range n {
		b.docs[fmt.Sprintf("d%d.md", i)] = []byte("walrus")
	}
	s := open(t, func(c *Config) {
		c.OpenStore = func(context.Context, Record) (*store.Store, error) { return store.New(b, nil), nil }
		c.Now, c.SearchWait = time.Now, time.Second
		if set != nil {
			set(c)
		}
	})
	create(t, s, "eval")
	return s, b
}

// searchUnready runs a search of a brain that has no complete index.
func searchUnready(t *testing.T, s *Service) *UnreadyError {
	t.Helper()
	_, err := use(t, s, "eval").Search(t.Context(), query("walrus"))
	unready, ok := errors.AsType[*UnreadyError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	return unready
}

// A search of a brain whose index is being built waits for a while, and is then told how far the
// index is. The build goes on without it.
func TestSearchWhileTheIndexIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const docs = 5
		s, b := openStepped(t, docs, nil)
		var got []protocol.Indexing
		for i := range docs {
			begin := time.Now()
			unready := searchUnready(t, s)
			if spent := time.Since(begin); i == 0 && spent != time.Second {
				t.Errorf("the first search has waited %v", spent)
			}
			if unready.Retry < minRetry || unready.Retry > maxRetry {
				t.Errorf("try again in %v", unready.Retry)
			}
			got = append(got, *unready.Indexing)
			b.step()
		}
		var want []protocol.Indexing
		for i := range docs {
			want = append(want, protocol.Indexing{
				DocumentsDone: i, DocumentsTotal: docs, BytesDone: int64(i) * partBytes, BytesTotal: docs * partBytes,
			})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		found, err := use(t, s, "eval").Search(t.Context(), query("walrus"))
		if err != nil || found.Indexing != nil || len(found.Hits)+len(found.Hits[0].Duplicates) != docs {
			t.Errorf("got %+v, %v", found, err)
		}
	})
}

// Once it is known that the index takes longer than a search waits, no search waits.
func TestHopelessSearchesDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := openStepped(t, 4, nil)
		searchUnready(t, s)
		b.step() // one of four after a second
		begin := time.Now()
		if unready := searchUnready(t, s); unready.Retry != 3*time.Second {
			t.Errorf("try again in %v", unready.Retry)
		}
		if spent := time.Since(begin); spent != 0 {
			t.Errorf("waited %v", spent)
		}
		for range 3 {
			b.step()
		}
		find(t, s, "eval", "walrus")
	})
}

// Searches go on while the index reads what was written, over what it has.
func TestSearchWhileWritesAreIndexed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := openStepped(t, 1, nil)
		searchUnready(t, s)
		b.step()
		look := func(word string, want *protocol.Indexing) {
			t.Helper()
			found, err := use(t, s, "eval").Search(t.Context(), query(word))
			if err != nil || len(found.Hits) != 1 {
				t.Fatalf("%s: got %+v, %v", word, found, err)
			}
			if diff := cmp.Diff(want, found.Indexing); diff != "" {
				t.Error(diff)
			}
		}
		look("walrus", nil)
		put(t, s, "eval", "d0.md", "otter")
		look("walrus", &protocol.Indexing{DocumentsTotal: 1})
		put(t, s, "eval", "d1.md", "seal")
		put(t, s, "eval", "d2.md", "seal pup")
		look("walrus", &protocol.Indexing{DocumentsTotal: 3})
		b.step()
		look("otter", &protocol.Indexing{DocumentsDone: 1, DocumentsTotal: 3})
		b.step()
		b.step()
		look("otter", nil)
		put(t, s, "eval", "d0.md", "otter again")
		look("otter", &protocol.Indexing{DocumentsTotal: 1}) // counted from then on
		b.step()
		look("otter", nil)
	})
}

// A build that nobody waits for is ended neither to save memory nor to save open stores.
func TestUnattendedBuildsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int32
		s, b := openStepped(t, 2, func(c *Config) {
			stepped := c.OpenStore
			c.OpenStore = func(ctx context.Context, r Record) (*store.Store, error) {
				if r.Brain.ID != "eval" {
					return memstore.Open(nil), nil
				}
				opened.Add(1)
				return stepped(ctx, r)
			}
			c.Persistent, c.OpenStores, c.IndexMemory = true, 1, 1
		})
		searchUnready(t, s)
		b.step()
		for _, id := range []string{"a", "b"} {
			create(t, s, id)
			put(t, s, id, "a.md", "otter")
			find(t, s, id, "otter")
		}
		s.pool.dropIndexes()
		time.Sleep(time.Second) // so that it is the one used last
		b.step()
		found, err := use(t, s, "eval").Search(t.Context(), query("walrus"))
		if err != nil || found.Indexing != nil || len(found.Hits) != 1 || opened.Load() != 1 {
			t.Errorf("got %+v, %v, opened %d times", found, err, opened.Load())
		}
	})
}

// Indexes take turns, and one that waits for its turn can be closed.
func TestIndexesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, func(c *Config) { c.SearchWait = time.Second })
		for _, id := range []string{"eval", "ended"} {
			create(t, s, id)
			put(t, s, id, "a.md", "walrus")
		}
		building := s.entries.indexer.building
		building <- struct{}{} // the turn of another one
		searchUnready(t, s)
		_, err := use(t, s, "ended").Search(t.Context(), query("walrus"))
		if _, ok := errors.AsType[*UnreadyError](err); !ok {
			t.Errorf("got %v", err)
		}
		if err := s.Delete(t.Context(), use(t, s, "ended")); err != nil {
			t.Error(err)
		}
		<-building
		if got := find(t, s, "eval", "walrus"); len(got) != 1 {
			t.Errorf("found %v", got)
		}
	})
}

// A store is opened to the end even if the caller who has begun it leaves, and a search does not
// wait for it any longer than for an index.
func TestOpeningGoesOn(t *testing.T) {
	opening, proceed := make(chan struct{}, 8), make(chan struct{})
	s := open(t, func(c *Config) {
		c.SearchWait = time.Millisecond
		c.OpenStore = func(ctx context.Context, _ Record) (*store.Store, error) {
			opening <- struct{}{}
			select {
			case <-proceed:
				return memstore.Open(nil), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	create(t, s, "eval")
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := use(t, s, "eval").Store(ctx)
		left <- err
	}()
	<-opening
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if unready := searchUnready(t, s); unready.Indexing != nil || unready.Retry != minRetry {
		t.Errorf("got %+v", unready)
	}
	close(proceed)
	if _, err := use(t, s, "eval").Store(t.Context()); err != nil || len(opening) > 0 {
		t.Errorf("got %v, opened again: %v", err, len(opening) > 0)
	}
}

func TestProgress(t *testing.T) {
	now := epoch
	p := progress{now: func() time.Time { return now }}
	expect := func(queued int, want protocol.Indexing, remaining time.Duration) {
		t.Helper()
		got, took := p.indexing(queued)
		if diff := cmp.Diff(want, got); diff != "" || took != remaining {
			t.Errorf("%v remain, want %v; %s", took, remaining, diff)
		}
	}
	files := []store.FileInfo{{Size: 10}, {Size: 30}, {Size: 40}}
	expect(2, protocol.Indexing{DocumentsTotal: 2}, 0)
	p.begin(files)
	now = now.Add(minSample)
	expect(0, protocol.Indexing{DocumentsTotal: 3, BytesTotal: 80}, 0)
	p.read(files[:1])
	expect(1, protocol.Indexing{DocumentsDone: 1, DocumentsTotal: 4, BytesDone: 10, BytesTotal: 80}, 8*minSample)
	p.read(files[1:2])
	expect(0, protocol.Indexing{DocumentsDone: 2, DocumentsTotal: 3, BytesDone: 40, BytesTotal: 80}, minSample)
	p.read(files[2:])
	p.begin([]store.FileInfo{{}})
	expect(0, protocol.Indexing{DocumentsDone: 3, DocumentsTotal: 4, BytesDone: 80, BytesTotal: 80}, 0)
	p.complete()
	expect(0, protocol.Indexing{}, 0)
	for _, c := range []struct{ remaining, spent, want time.Duration }{
		{0, 0, minRetry}, {0, 8 * time.Second, 8 * time.Second}, {time.Hour, 0, maxRetry}, {2700 * time.Millisecond, 0, 3 * time.Second},
	} {
		if got := retryAfter(c.remaining, c.spent); got != c.want {
			t.Errorf("%v, %v: got %v, want %v", c.remaining, c.spent, got, c.want)
		}
	}
}
