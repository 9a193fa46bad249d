package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/daemon/search/document"
)

// cats is an index of n documents of one chunk each.
func cats(n int) *Index {
	ix := New(nil)
	for i := range n {
		ix.Put(document.Document{Path: fmt.Sprintf("%d.txt", i), Text: "cat"})
	}
	return ix
}

// A failure loses one batch: the next query continues where it stopped.
func TestEmbeddingGoesOnAfterAFailure(t *testing.T) { synctest.Test(t, testEmbeddingGoesOn) }

func testEmbeddingGoesOn(t *testing.T) {
	const batches = 5
	ix := cats(batches * embedBatch)
	embedded := 0
	e := &meanings{before: func(_ context.Context, call int64, texts []string) error {
		if call == 3 {
			return errModel
		}
		embedded += len(texts)
		return nil
	}}
	s := NewSearcher(ix, Config{Embedder: e})
	if err := s.Prepare(t.Context()); !errors.Is(err, errModel) {
		t.Fatalf("got %v", err)
	}
	if e.calls.Load() != 3 || ix.vectors.Settled() != 3*firstBatch {
		t.Errorf("%d calls, %d vectors", e.calls.Load(), ix.vectors.Settled())
	}
	time.Sleep(retryPause)
	res := search(t, s, Query{Text: "kitten", Mode: ModeSemantic})
	if len(res.Hits) != 1 || len(res.Hits[0].Duplicates)+res.Hits[0].MoreDuplicates != batches*embedBatch-1 {
		t.Errorf("found %d", len(res.Hits))
	}
	if want := batches*embedBatch + 1; embedded != want { // one for the query
		t.Errorf("embedded %d texts, want %d", embedded, want)
	}
	search(t, s, Query{Text: "kitten", Mode: ModeSemantic})
	if e.calls.Load() != 3+7+1+1 {
		t.Errorf("%d calls", e.calls.Load())
	}
}

// A slow embedder gets less at a time, so that progress can be seen.
func TestSlowEmbedderMakesProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		e := &meanings{before: func(_ context.Context, _ int64, texts []string) error {
			time.Sleep(time.Duration(len(texts)) * time.Second)
			sizes = append(sizes, len(texts))
			return nil
		}}
		if err := NewSearcher(cats(80), Config{Embedder: e}).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []int{32, 16, 8, 8, 8, 8}; !slices.Equal(sizes, want) {
			t.Errorf("%d at a time, want %d", sizes, want)
		}
	})
}

func TestPrepareWithoutAnEmbedder(t *testing.T) {
	if err := NewSearcher(cats(1), Config{}).Prepare(t.Context()); err != nil {
		t.Error(err)
	}
}

// The title, headings and text of a chunk are embedded, each once.
func TestWhatIsEmbedded(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "a.md", Title: "Trip", Text: "# Trip\n## Day 1\nsea"})
	ix.Put(document.Document{Path: "b.txt", Text: "ocean"})
	var got []string
	s := NewSearcher(ix, Config{Embedder: &meanings{before: func(_ context.Context, _ int64, texts []string) error {
		got = append(got, texts...)
		return nil
	}}})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "Trip\nDay 1\nsea|ocean"; strings.Join(got, "|") != want {
		t.Errorf("embedded %q, want %q", got, want)
	}
}

// A document that changes while it is embedded never gets the vector of its old text, whether or
// not chunks are renumbered.
func TestDocumentsChangeWhileTheyAreEmbedded(t *testing.T) {
	ix := cats(20)
	e := &meanings{}
	e.before = func(_ context.Context, call int64, _ []string) error {
		if call == 1 {
			ix.Put(document.Document{Path: "19.txt", Text: "dog"})
			ix.Put(document.Document{Path: "new.txt", Text: "dog"})
			for i := range 15 {
				ix.Delete(fmt.Sprintf("%d.txt", i)) // compacts
			}
			ix.Put(document.Document{Path: "18.txt", Text: "cat dog"})
		}
		return nil
	}
	s := NewSearcher(ix, Config{Embedder: e})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(ix.chunks) >= 20 {
		t.Fatalf("%d chunks: nothing was renumbered", len(ix.chunks))
	}
	got := map[string]float64{}
	for _, c := range ix.nearestIn(source{keep: anyDocument}, []float32{1, 0, 0, 0}, 100) {
		got[ix.chunkID(c.chunk)] = roundScore(c.score)
	}
	want := map[string]float64{"15.txt#0": 1, "16.txt#0": 1, "17.txt#0": 1, "18.txt#0": 0.707107}
	if fmt.Sprint(got) != fmt.Sprint(want) || ix.vectors.Settled() != 6 {
		t.Errorf("%d vectors, got %v, want %v", ix.vectors.Settled(), got, want)
	}
}

// gate is a hook that lets one call pass at a time.
func gate() (before func(context.Context, int64, []string) error, open chan error) {
	open = make(chan error)
	return func(ctx context.Context, _ int64, _ []string) error {
		select {
		case err := <-open:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, open
}

// All callers that wait for vectors wait for the same run. It outlives the caller that began it,
// and ends when no caller waits any more.
func TestEmbeddingIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, open := gate()
		e := &meanings{before: before}
		s := NewSearcher(cats(1), Config{Embedder: e, Degrade: true})
		prepare := func(ctx context.Context) chan error {
			done := make(chan error, 1)
			go func() { done <- s.Prepare(ctx) }()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := prepare(ctx), prepare(t.Context())
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left got %v", err)
		}
		open <- nil
		if err := <-second; err != nil || e.calls.Load() != 1 {
			t.Errorf("the one who stayed got %v after %d calls", err, e.calls.Load())
		}

		s.index.Put(document.Document{Path: "new.txt", Text: "dog"})
		third, fourth := prepare(t.Context()), prepare(t.Context())
		open <- errModel
		for _, done := range []chan error{third, fourth} {
			if err := <-done; !errors.Is(err, errModel) || e.calls.Load() != 2 {
				t.Errorf("got %v after %d calls", err, e.calls.Load())
			}
		}

		ctx, cancel = context.WithCancel(t.Context())
		time.Sleep(retryPause)
		last := prepare(ctx)
		cancel()
		if err := <-last; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if s.embedding.run != nil {
			t.Error("still embedding, for nobody")
		}
	})
}

// What was written while other chunks were embedded is embedded before a later query.
func TestEmbeddingSeesLateWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, open := gate()
		s := NewSearcher(cats(1), Config{Embedder: &meanings{before: before}})
		go s.Prepare(t.Context())
		synctest.Wait()
		s.index.Put(document.Document{Path: "late.txt", Text: "dog"})
		done := make(chan Result, 1)
		go func() {
			res, err := s.Search(t.Context(), Query{Text: "hound", Mode: ModeSemantic})
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		for range 3 { // the cat, the late dog, the query
			synctest.Wait()
			open <- nil
		}
		if res := <-done; len(res.Hits) != 1 || res.Hits[0].Path != "late.txt" {
			t.Errorf("found %q", paths(res))
		}
	})
}

// A search that its caller cancels has no answer, whatever Degrade is. A deadline of the model's
// own is different.
func TestCancelledSearches(t *testing.T) {
	hang := func(hangs int64) *meanings {
		return &meanings{before: func(ctx context.Context, call int64, _ []string) error {
			if call < hangs {
				return nil
			}
			<-ctx.Done()
			return fmt.Errorf("given up: %w", ctx.Err())
		}}
	}
	synctest.Test(t, func(t *testing.T) {
		for name, cfg := range map[string]Config{
			"documents": {Embedder: hang(1), Degrade: true},
			"query":     {Embedder: hang(2), Degrade: true},
			"reranker":  {Embedder: &meanings{}, Reranker: waiting{}, Degrade: true},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := NewSearcher(cats(2), cfg).Search(ctx, Query{Text: "cat", Mode: modeOf(cfg)})
				done <- err
			}()
			synctest.Wait()
			cancel()
			err := <-done
			if _, failed := errors.AsType[*ModelError](err); failed || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
	slow := &meanings{before: func(context.Context, int64, []string) error { return context.DeadlineExceeded }}
	if res := search(t, NewSearcher(cats(2), Config{Embedder: slow, Degrade: true}), Query{Text: "cat"}); res.Mode != ModeBM25 {
		t.Errorf("mode %s", res.Mode)
	}
}

func modeOf(cfg Config) Mode {
	if cfg.Reranker != nil {
		return ModeHybridRerank
	}
	return ModeHybrid
}

// waiting is a reranker that never answers.
type waiting struct{}

func (waiting) Name() string { return "test/waiting" }

func (waiting) Rerank(ctx context.Context, _ string, _ []string) ([]float64, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// picky refuses texts that contain POISON.
type picky struct{ *meanings }

// refusal refuses the texts at its places.
type refusal []int

func (refusal) Error() string { return "not this text" }

func (r refusal) Refused() []int { return r }

func (p picky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := p.meanings.Embed(ctx, texts)
	var places refusal
	for i, text := range texts {
		if strings.Contains(text, "POISON") {
			vectors[i], places = nil, append(places, i)
		}
	}
	if places != nil {
		err = places
	}
	return vectors, err
}

// A refused passage does not affect the others, is reported once, is found by its words, and is
// tried again when its document changes.
func TestRefusedPassages(t *testing.T) {
	ix := cats(150)
	ix.Put(document.Document{Path: "bad.txt", Text: "POISON walrus"})
	e := &meanings{}
	var reported []string
	s := NewSearcher(ix, Config{Embedder: picky{e}, Refused: func(ids []string, reason error) {
		reported = append(reported, fmt.Sprint(ids, reason))
	}})
	for range 2 {
		if res := search(t, s, Query{Text: "kitten", Mode: ModeHybrid}); len(res.Hits) != 1 || len(res.Hits[0].Duplicates)+res.Hits[0].MoreDuplicates != 149 {
			t.Errorf("found %q", paths(res))
		}
		if res := search(t, s, Query{Text: "walrus", Mode: ModeHybrid}); res.Mode != ModeHybrid || !slices.Contains(paths(res), "bad.txt") {
			t.Errorf("found %q in mode %s", paths(res), res.Mode)
		}
	}
	// The 151 passages are embedded in batches of 32, 64 and 55, each once, and each search asks once.
	if want := "[[bad.txt#0] test/meanings: not this text]"; fmt.Sprint(reported) != want || e.calls.Load() != 3+4 {
		t.Errorf("reported %v, want %s; %d calls", reported, want, e.calls.Load())
	}

	for i := range 140 {
		ix.Delete(fmt.Sprintf("%d.txt", i)) // compacts
	}
	if len(ix.chunks) >= 150 || !ix.embedded() {
		t.Errorf("%d chunks, %d to embed", len(ix.chunks), len(ix.unembedded()))
	}
	ix.Put(document.Document{Path: "bad.txt", Text: "better walrus"})
	if len(ix.unembedded()) != 1 || ix.vectors.Settled() != ix.live-1 {
		t.Errorf("%d to embed, %d settled of %d", len(ix.unembedded()), ix.vectors.Settled(), ix.live)
	}
}

// A refused query is an error, or lowers the mode.
func TestRefusedQuery(t *testing.T) {
	s := NewSearcher(cats(2), Config{Embedder: picky{&meanings{}}})
	_, err := s.Search(t.Context(), Query{Text: "POISON", Mode: ModeHybrid})
	if _, failed := errors.AsType[*ModelError](err); !failed {
		t.Errorf("got %v", err)
	}
}
