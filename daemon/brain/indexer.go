package brain

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

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
	store  *store.Store
	cfg    indexerConfig
	stop   func(cause error) // ends the goroutine and the subscription
	ended  chan struct{}
	index  *search.Index // set before the first search
	bytes  atomic.Int64  // memory of the index, measured now and then
	counts changeCounts  // of the goroutine alone

	// searcher answers over index. Like it, it is only used after wait.
	searcher *search.Searcher
	// pending counts the searches that have got the indexer and not returned
	// from wait: it must not be dropped while there are some.
	pending atomic.Int64

	mu       sync.Mutex
	dirty    map[string]struct{}
	marked   uint64        // events counted so far; the initial build counts as one
	applied  uint64        // events whose paths are in the index
	err      error         // the goroutine ended: the index is no longer kept
	progress chan struct{} // closed and replaced when applied or err changes
	wake     chan struct{} // holds one token while there is work
	changed  chan struct{} // holds one token while there is work for embed
}

// indexerConfig is what an indexer needs besides the store.
type indexerConfig struct {
	search    search.Config
	options   *search.Options // of the index
	snapshots *snapshots      // nil keeps none
	measured  func()          // called after bytes changed; must not wait
	refused   *atomic.Int64   // counts the passages that the embedder refused
	logger    *slog.Logger
	brain     string // for the log
	now       func() time.Time
}

// changeCounts count the documents put and deleted since the index was last
// measured and last saved.
type changeCounts struct {
	measured, saved int
}

// startIndexer subscribes first and builds afterwards, so that no commit falls
// between the two.
func startIndexer(st *store.Store, cfg indexerConfig) *indexer {
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &indexer{
		store:    st,
		cfg:      cfg,
		ended:    make(chan struct{}),
		dirty:    map[string]struct{}{},
		marked:   1,
		progress: make(chan struct{}),
		wake:     make(chan struct{}, 1),
		changed:  make(chan struct{}, 1),
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
	err := x.open(ctx)
	if err == nil {
		x.measure()
		x.advance(1)
		err = x.follow(ctx)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
	close(x.progress)
}

// follow keeps the index, and with an embedder its vectors, in step with the
// store. It returns only with an error.
func (x *indexer) follow(ctx context.Context) error {
	embedding, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if x.cfg.search.Embedder != nil {
		wg.Go(func() { x.embed(embedding) })
	}
	return x.drain(ctx)
}

// drain applies everything marked until there is nothing, then waits for more.
// It returns only with an error.
func (x *indexer) drain(ctx context.Context) error {
	for {
		x.mu.Lock()
		dirty, marked := x.dirty, x.marked
		x.dirty = map[string]struct{}{}
		x.mu.Unlock()
		files := make([]file, 0, len(dirty))
		for path := range dirty {
			files = append(files, file{path: path})
		}
		if err := x.refresh(ctx, files); err != nil {
			return fmt.Errorf("update the index: %w", err)
		}
		x.advance(marked)
		x.toEmbed()
		x.measureIfDue()
		var quiet <-chan time.Time
		if x.saveDue() {
			quiet = time.After(saveAfter)
		}
		select {
		case <-x.wake:
		case <-quiet:
			x.save(x.woken)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// woken reports whether there is work.
func (x *indexer) woken() bool { return len(x.wake) > 0 }

func (x *indexer) advance(to uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if to > x.applied {
		x.applied = to
		close(x.progress)
		x.progress = make(chan struct{})
	}
}

// wait returns when the index holds every write acknowledged before the call.
// Whoever got the indexer from Handle.indexer calls it once.
func (x *indexer) wait(ctx context.Context) error {
	defer x.pending.Add(-1)
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

// closeSaved is close for an index that will be needed again.
func (x *indexer) closeSaved(cause error) {
	x.close(cause)
	if x.index != nil && x.saveDue() {
		x.save(func() bool { return false })
	}
}
