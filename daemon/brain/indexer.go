package brain

import (
	"context"
	"fmt"
	"sync"

	"evalctl/daemon/search"
	"evalctl/daemon/store"
)

// indexer keeps a search index in step with a store. Events mark paths as
// dirty; one goroutine re-reads dirty paths from the store, so an event that
// is seen twice, late or in another order ends in the same index.
//
// The store delivers a commit's events before it acknowledges the commit.
// Whoever waits for the events counted at his arrival therefore sees every
// write that was acknowledged before.
type indexer struct {
	store    *store.Store
	index    *search.Index
	searcher *search.Searcher
	stop     func(cause error) // ends the goroutine and the subscription
	ended    chan struct{}

	mu       sync.Mutex
	dirty    map[string]struct{}
	marked   uint64        // events counted so far; the initial build counts as one
	applied  uint64        // events whose paths are in the index
	err      error         // the goroutine ended: the index is no longer kept
	progress chan struct{} // closed and replaced when applied or err changes
	wake     chan struct{} // holds one token while there is work
}

// startIndexer subscribes first and builds afterwards, so that no commit falls
// between the two.
func startIndexer(st *store.Store, cfg search.Config) *indexer {
	ctx, cancel := context.WithCancelCause(context.Background())
	index := search.New(nil)
	x := &indexer{
		store:    st,
		index:    index,
		searcher: search.NewSearcher(index, cfg),
		ended:    make(chan struct{}),
		dirty:    map[string]struct{}{},
		marked:   1,
		progress: make(chan struct{}),
		wake:     make(chan struct{}, 1),
	}
	unsubscribe := st.Subscribe(x.mark)
	x.stop = func(cause error) {
		unsubscribe()
		cancel(cause)
	}
	go x.run(ctx)
	return x
}

// mark is the store's sink: it runs inside a commit and must not wait.
func (x *indexer) mark(e store.ChangeEvent) {
	x.mu.Lock()
	x.dirty[e.Path] = struct{}{}
	if e.OldPath != "" {
		x.dirty[e.OldPath] = struct{}{}
	}
	x.marked++
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *indexer) run(ctx context.Context) {
	defer close(x.ended)
	err := x.build(ctx)
	if err == nil {
		x.advance(1)
		err = x.drain(ctx)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
	close(x.progress)
}

func (x *indexer) build(ctx context.Context) error {
	files, err := x.store.List(ctx, "", store.ListOptions{Recursive: true, IncludeGenerated: true})
	if err != nil {
		return fmt.Errorf("build the index: %w", err)
	}
	for _, f := range files {
		if err := x.refresh(ctx, f.Path); err != nil {
			return fmt.Errorf("build the index: %w", err)
		}
	}
	return nil
}

// drain applies everything marked until there is nothing, then waits for more.
// It returns only with an error.
func (x *indexer) drain(ctx context.Context) error {
	for {
		x.mu.Lock()
		paths, marked := x.dirty, x.marked
		x.dirty = map[string]struct{}{}
		x.mu.Unlock()
		for path := range paths {
			if err := x.refresh(ctx, path); err != nil {
				return fmt.Errorf("update the index: %w", err)
			}
		}
		x.advance(marked)
		select {
		case <-x.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (x *indexer) advance(to uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if to > x.applied {
		x.applied = to
		close(x.progress)
		x.progress = make(chan struct{})
	}
}

// refresh makes the index agree with what the store holds at path now.
func (x *indexer) refresh(ctx context.Context, path string) error {
	data, err := x.store.Read(ctx, path)
	if store.IsNotFound(err) {
		x.index.Delete(path)
		return nil
	}
	if err != nil {
		return err
	}
	if doc, ok := search.Parse(path, data); ok {
		x.index.Put(doc)
	} else {
		x.index.Delete(path)
	}
	return nil
}

// wait returns when the index holds every write acknowledged before the call.
func (x *indexer) wait(ctx context.Context) error {
	x.mu.Lock()
	target := x.marked
	for x.applied < target && x.err == nil {
		progress := x.progress
		x.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
		x.mu.Lock()
	}
	defer x.mu.Unlock()
	if x.applied < target {
		return x.err
	}
	return nil
}

// failed reports whether the index is no longer kept up to date.
func (x *indexer) failed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err != nil
}

// close gives cause to those who still wait.
func (x *indexer) close(cause error) {
	x.stop(cause)
	<-x.ended
}
