package brain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/internal/awaittest"
)

var equateEmpty = cmpopts.EquateEmpty()

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// query is the search for a text with the defaults of the API.
func query(text string) search.Query {
	return search.Query{Text: text, TopK: 10}
}

// find returns the ids of the chunks found.
func find(t *testing.T, s *Service, id, text string) []string {
	t.Helper()
	got, err := use(t, s, id).Search(t.Context(), query(text))
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, h := range got.Hits {
		ids = append(ids, h.ChunkID)
	}
	return ids
}

func TestIndexFollowsEveryKindOfChange(t *testing.T) {
	s := open(t, nil)
	create(t, s, "eval")
	put(t, s, "eval", "before.md", "walrus") // before the index is built
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, sorted(find(t, s, "eval", "walrus")), equateEmpty); diff != "" {
			t.Fatal(diff)
		}
	}
	expect("before.md#0")
	st, err := use(t, s, "eval").Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(st.Write(t.Context(), "a.md", []byte("otter")))
	expect("before.md#0")
	do(st.Append(t.Context(), "a.md", []byte(" and walrus")))
	expect("a.md#0", "before.md#0")
	do(st.Rename(t.Context(), "a.md", "b.md"))
	expect("b.md#0", "before.md#0")
	do(st.Rename(t.Context(), "b.md", "b.bin"))
	expect("before.md#0")
	do(st.Apply(t.Context(), store.Commit{Ops: []store.Op{
		{Kind: store.OpDelete, Path: "before.md"},
		{Kind: store.OpWrite, Path: "c.md", Data: []byte("walrus")},
		{Kind: store.OpRename, Path: "c.md", To: "d.md"},
		{Kind: store.OpWrite, Path: "_hidden.md", Data: []byte("walrus")},
	}}))
	expect("d.md#0")
	do(st.Delete(t.Context(), "d.md"))
	expect()
}

func TestReadYourWritesUnderConcurrentWriters(t *testing.T) {
	s := open(t, nil)
	create(t, s, "eval")
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			st, err := use(t, s, "eval").Store(t.Context())
			for i := range 25 {
				word := fmt.Sprintf("token%dx%d", w, i)
				path := fmt.Sprintf("w%d/n%d.md", w, i)
				if err == nil {
					err = st.Write(t.Context(), path, []byte(word))
				}
				var got SearchResult
				if err == nil {
					got, err = use(t, s, "eval").Search(t.Context(), query(word))
				}
				if err != nil || len(got.Hits) != 1 || got.Hits[0].Path != path {
					t.Errorf("%s: found %+v, %v", word, got.Hits, err)
					return
				}
			}
		})
	}
	awaittest.Wait(t, "writers", writers.Wait)
}

// slowBackend holds documents in memory. Its reads can wait or fail.
type slowBackend struct {
	mu      sync.Mutex
	docs    map[string][]byte
	reading chan string   // receives the path of each read, unless nil
	proceed chan struct{} // each read waits for one, unless nil
	broken  atomic.Pointer[error]
}

func (b *slowBackend) Read(ctx context.Context, path string) ([]byte, error) {
	b.mu.Lock()
	data, ok := b.docs[path]
	b.mu.Unlock()
	if b.reading != nil {
		b.reading <- path
		select {
		case <-b.proceed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := b.broken.Load(); err != nil {
		return nil, *err
	}
	if !ok {
		return nil, store.ErrNotFound
	}
	return data, nil
}

func (b *slowBackend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.docs[path]; !ok {
		return store.FileInfo{}, store.ErrNotFound
	}
	return store.FileInfo{Path: path}, nil
}

func (b *slowBackend) List(context.Context, string) ([]store.FileInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []store.FileInfo
	for path := range b.docs {
		list = append(list, store.FileInfo{Path: path})
	}
	return list, nil
}

func (b *slowBackend) Commit(_ context.Context, c store.Commit) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, op := range c.Ops {
		delete(b.docs, op.Path)
		if op.Kind == store.OpWrite {
			b.docs[op.Path] = op.Data
		}
	}
	return nil
}

func (b *slowBackend) Close() error { return nil }

func openSlow(t *testing.T, b *slowBackend) *Service {
	s := open(t, func(c *Config) {
		c.OpenStore = func(context.Context, Record) (*store.Store, error) { return store.New(b, nil), nil }
	})
	create(t, s, "eval")
	return s
}

// TestWritesDuringTheBuildAreNotLost writes a document whose old content the
// build has already read.
func TestWritesDuringTheBuildAreNotLost(t *testing.T) {
	b := &slowBackend{docs: map[string][]byte{"a.md": []byte("otter")}, reading: make(chan string), proceed: make(chan struct{})}
	s := openSlow(t, b)
	type result struct {
		got SearchResult
		err error
	}
	search := func() chan result {
		done := make(chan result, 1)
		go func() {
			got, err := use(t, s, "eval").Search(t.Context(), query("walrus"))
			done <- result{got, err}
		}()
		return done
	}
	early := search()
	awaittest.Receive(t, "b.reading", b.reading) // the build has read the old content
	put(t, s, "eval", "a.md", "walrus")
	put(t, s, "eval", "b.md", "another walrus")
	late := search()
	// The build continues, then both written documents are read again.
	go func() {
		b.proceed <- struct{}{}
		for range 2 {
			<-b.reading
			b.proceed <- struct{}{}
		}
	}()
	if r := awaittest.Receive(t, "late", late); r.err != nil || len(r.got.Hits) != 2 {
		t.Errorf("a search after the writes found %d chunks, %v", len(r.got.Hits), r.err)
	}
	if r := awaittest.Receive(t, "early", early); r.err != nil {
		t.Error(r.err)
	}
}

func TestSearchesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &slowBackend{docs: map[string][]byte{"a.md": nil}, reading: make(chan string, 1), proceed: make(chan struct{})}
		s := openSlow(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		search := func(ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := use(t, s, "eval").Search(ctx, query("x"))
				done <- err
			}()
			synctest.Wait() // until it waits for the build, which waits for a read
			return done
		}
		left, deleted := search(ctx), search(t.Context())
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a search whose context ended: %v", err)
		}
		if err := s.Delete(t.Context(), use(t, s, "eval")); err != nil {
			t.Error(err)
		}
		if err := <-deleted; !errors.Is(err, ErrNotFound) {
			t.Errorf("a search whose brain was deleted: %v", err)
		}
	})
}

func TestAFailedIndexIsReportedThenRebuilt(t *testing.T) {
	b := &slowBackend{docs: map[string][]byte{}}
	s := openSlow(t, b)
	put(t, s, "eval", "a.md", "walrus")
	find(t, s, "eval", "walrus")
	damage := errors.New("bad sector")
	b.broken.Store(&damage)
	put(t, s, "eval", "b.md", "another walrus")
	for range 2 {
		if _, err := use(t, s, "eval").Search(t.Context(), query("walrus")); !errors.Is(err, damage) {
			t.Fatalf("got %v", err)
		}
	}
	b.broken.Store(nil)
	if got := find(t, s, "eval", "walrus"); len(got) != 2 {
		t.Errorf("found %v", got)
	}
}

// bulkyBackend has large documents, and counts at each read which of the contents that it has
// returned are still in memory.
type bulkyBackend struct {
	store.Backend
	mu   sync.Mutex
	held []weak.Pointer[byte]
	most int
}

const bulkyBytes, bulkyDocuments = 512 << 10, 48

func (b *bulkyBackend) List(context.Context, string) (files []store.FileInfo, _ error) {
	for i := range bulkyDocuments {
		files = append(files, store.FileInfo{Path: fmt.Sprintf("d%03d.txt", i), Size: bulkyBytes, ModTime: epoch})
	}
	return files, nil
}

func (b *bulkyBackend) Read(context.Context, string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	runtime.GC()
	held := 0
	for _, p := range b.held {
		if p.Value() != nil {
			held++
		}
	}
	b.most = max(b.most, held)
	data := bytes.Repeat([]byte{0xff}, bulkyBytes) // not text, so that the index does not keep it
	b.held = append(b.held, weak.Make(&data[0]))
	return data, nil
}

func (*bulkyBackend) Close() error { return nil }

// While an index is built, a few MiB of documents are held outside of it.
func TestBuildHoldsFewDocuments(t *testing.T) {
	b := &bulkyBackend{}
	s := open(t, func(c *Config) {
		c.OpenStore = func(context.Context, Record) (*store.Store, error) { return store.New(b, nil), nil }
	})
	create(t, s, "eval")
	if got := find(t, s, "eval", "otter"); len(got) > 0 || len(b.held) != bulkyDocuments {
		t.Errorf("found %v in %d documents", got, len(b.held))
	}
	const parts, documentsOfPart = 2, 2 // one is read while the one before is indexed
	if b.most > parts*documentsOfPart {
		t.Errorf("%d documents of %d KiB were held, want at most %d", b.most, bulkyBytes>>10, parts*documentsOfPart)
	}
}
