package brain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

func find(t *testing.T, s *Service, id string, r protocol.SearchRequest) []string {
	t.Helper()
	got, err := use(t, s, id).Search(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, c := range got.Chunks {
		ids = append(ids, c.ChunkID)
	}
	return ids
}

func TestSearchAnswer(t *testing.T) {
	s := open(t, nil)
	create(t, s, "eval")
	put(t, s, "eval", "notes/trip.md", "---\ntitle: Trip\ndate: 2024-03-02\ntags: [sea, north]\nmood: 5\n---\n# Day 1\n\nWe saw a whale.\n")
	got, err := use(t, s, "eval").Search(t.Context(), protocol.SearchRequest{Query: "whales?"})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Chunks) != 1 || got.Chunks[0].Score <= 0 {
		t.Fatalf("got %+v", got)
	}
	got.Chunks[0].Score = 0
	text := got.Chunks[0].Text
	at := len([]rune(text[:strings.Index(text, "whale")]))
	want := protocol.SearchResponse{
		Query: "whales?", BrainID: "eval", Mode: "auto", EffectiveMode: "bm25",
		Chunks: []protocol.SearchChunk{{
			ChunkID: "notes/trip.md#0", DocumentID: "notes/trip.md", BrainID: "eval", Path: "notes/trip.md",
			Title: "Trip", Text: text, Highlights: []protocol.Span{{Start: at, End: at + 5}},
			ComponentScores: got.Chunks[0].ComponentScores,
			Metadata:        map[string]any{"date": "2024-03-02", "tags": "sea,north", "mood": got.Chunks[0].Metadata["mood"], "heading_path": "Day 1"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSearchArguments(t *testing.T) {
	s := open(t, nil)
	create(t, s, "eval")
	put(t, s, "eval", "a.md", "a whale")
	tests := []struct {
		name string
		r    protocol.SearchRequest
		bad  string // empty when accepted
	}{
		{"no query", protocol.SearchRequest{}, "query"},
		{"long query", protocol.SearchRequest{Query: strings.Repeat("é", 4097)}, "query"},
		{"longest query", protocol.SearchRequest{Query: strings.Repeat("é", 4096)}, ""},
		{"top_k below", protocol.SearchRequest{Query: "x", TopK: -1}, "top_k"},
		{"top_k above", protocol.SearchRequest{Query: "x", TopK: 101}, "top_k"},
		{"top_k", protocol.SearchRequest{Query: "x", TopK: 100}, ""},
		{"candidate_k", protocol.SearchRequest{Query: "x", CandidateK: -1}, "candidate_k"},
		{"rerank_top_n", protocol.SearchRequest{Query: "x", RerankTopN: -1}, "rerank_top_n"},
		{"both", protocol.SearchRequest{Query: "x", CandidateK: 50, RerankTopN: 5}, ""},
		{"bm25", protocol.SearchRequest{Query: "x", Mode: "bm25"}, ""},
		{"semantic", protocol.SearchRequest{Query: "x", Mode: "semantic"}, "mode"},
		{"hybrid", protocol.SearchRequest{Query: "x", Mode: "hybrid"}, "mode"},
		{"hybrid-rerank", protocol.SearchRequest{Query: "x", Mode: "hybrid-rerank"}, "mode"},
		{"unknown mode", protocol.SearchRequest{Query: "x", Mode: "BM25"}, "mode"},
		{"date", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-30"}, "question_date"},
		{"date in words", protocol.SearchRequest{Query: "x", QuestionDate: "yesterday"}, "question_date"},
		{"day", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-29"}, ""},
		{"time", protocol.SearchRequest{Query: "x", QuestionDate: "2024-02-29T10:00:00+02:00"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := use(t, s, "eval").Search(t.Context(), tt.r)
			if tt.bad == "" {
				if err != nil || got.EffectiveMode != "bm25" || got.Chunks == nil {
					t.Errorf("got %+v, %v", got, err)
				}
			} else if !isArgument(err, tt.bad) {
				t.Errorf("got %v, want an error about %s", err, tt.bad)
			}
		})
	}
}

func TestQuestionDateHidesTheFuture(t *testing.T) {
	s := open(t, nil)
	create(t, s, "eval")
	put(t, s, "eval", "undated.md", "a whale")
	put(t, s, "eval", "march.md", "---\ndate: 2024-03-02T18:00:00Z\n---\na whale in March")
	put(t, s, "eval", "april.md", "---\ndate: 2024-04-01\n---\na whale in April")
	for date, want := range map[string][]string{
		"":                          {"april.md#0", "march.md#0", "undated.md#0"},
		"2024-03-02":                {"march.md#0", "undated.md#0"},
		"2024-03-01":                {"undated.md#0"},
		"2024-03-02T19:00:00+02:00": {"undated.md#0"},
		"2024-03-02T20:00:00+02:00": {"march.md#0", "undated.md#0"},
	} {
		got := find(t, s, "eval", protocol.SearchRequest{Query: "whale", QuestionDate: date})
		if diff := cmp.Diff(want, sorted(got)); diff != "" {
			t.Errorf("asked on %q: %s", date, diff)
		}
	}
}

func TestIndexFollowsEveryKindOfChange(t *testing.T) {
	s := open(t, nil)
	create(t, s, "eval")
	put(t, s, "eval", "before.md", "walrus") // built from, not followed
	query := protocol.SearchRequest{Query: "walrus"}
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, sorted(find(t, s, "eval", query)), equateEmpty); diff != "" {
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
				var got protocol.SearchResponse
				if err == nil {
					got, err = use(t, s, "eval").Search(t.Context(), protocol.SearchRequest{Query: word})
				}
				if err != nil || len(got.Chunks) != 1 || got.Chunks[0].Path != path {
					t.Errorf("%s: found %+v, %v", word, got.Chunks, err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// slowBackend holds documents whose reads wait, and can be made to fail.
type slowBackend struct {
	mu      sync.Mutex
	docs    map[string][]byte
	reading chan string   // told of each read, unless nil
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
		c.OpenStore = func(context.Context, string) (*store.Store, error) { return store.New(b, nil), nil }
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
		got protocol.SearchResponse
		err error
	}
	search := func() chan result {
		done := make(chan result, 1)
		go func() {
			got, err := use(t, s, "eval").Search(t.Context(), protocol.SearchRequest{Query: "walrus"})
			done <- result{got, err}
		}()
		return done
	}
	early := search()
	<-b.reading // the build holds the old content
	put(t, s, "eval", "a.md", "walrus")
	put(t, s, "eval", "b.md", "another walrus")
	late := search()
	// The build goes on, then both written documents are read again.
	go func() {
		b.proceed <- struct{}{}
		for range 2 {
			<-b.reading
			b.proceed <- struct{}{}
		}
	}()
	if r := <-late; r.err != nil || len(r.got.Chunks) != 2 {
		t.Errorf("a search after the writes found %d chunks, %v", len(r.got.Chunks), r.err)
	}
	if r := <-early; r.err != nil {
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
				_, err := use(t, s, "eval").Search(ctx, protocol.SearchRequest{Query: "x"})
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
		if err := use(t, s, "eval").Delete(t.Context()); err != nil {
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
	find(t, s, "eval", protocol.SearchRequest{Query: "walrus"})
	damage := errors.New("bad sector")
	b.broken.Store(&damage)
	put(t, s, "eval", "b.md", "another walrus")
	for range 2 {
		if _, err := use(t, s, "eval").Search(t.Context(), protocol.SearchRequest{Query: "walrus"}); !errors.Is(err, damage) {
			t.Fatalf("got %v", err)
		}
	}
	b.broken.Store(nil)
	if got := find(t, s, "eval", protocol.SearchRequest{Query: "walrus"}); len(got) != 2 {
		t.Errorf("found %v", got)
	}
}
