package brain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/internal/heap"
	"evalctl/internal/wakeup"
)

// indexer keeps the search index of a store up to date. Change events mark paths as dirty. One
// goroutine reads dirty paths from the store again, so an event that arrives twice, late or out of
// order leads to the same index.
//
// The store delivers a commit's events before it acknowledges the commit. A search that waits for
// the events counted at its arrival therefore sees every write that was acknowledged before.
type indexer struct {
	cfg   indexerConfig
	stop  func(cause error) // ends the goroutine and the subscription
	ended chan struct{}
	size  indexSize
	begun time.Time                 // when the index was begun
	built atomic.Pointer[time.Time] // when it was complete; nil before
	// mirror holds the index. Only the goroutine uses it until ended is closed.
	mirror *mirror
	// searcher and embedding work on the index. They are set before the first
	// search returns from wait.
	searcher  *search.Searcher
	embedding *embedding
	// pending counts the calls of search that entry.acquireIndexer has announced and that have not
	// returned from wait. While there are some, the indexer must not be dropped.
	pending atomic.Int64

	mu       sync.Mutex
	dirty    map[string]struct{}
	marked   uint64        // events counted so far; the initial build counts as one
	applied  uint64        // events whose paths are in the index
	server   uint64        // see store.Store.Server
	seq      uint64        // the last commit with all events counted, 0 before the first
	err      error         // why the goroutine ended: the index is no longer kept
	progress chan struct{} // closed and replaced when applied or err changes
	wake     wakeup.Signal // while there is work
}

type indexerConfig struct {
	search    search.Config
	options   *search.Options // of the index
	snapshots Snapshots       // nil keeps none
	measured  func()          // called after the size of the index changed; must not wait
	refused   *atomic.Int64   // counts the passages that the embedder refused
	unusable  *atomic.Int64   // counts the snapshots that could not be used
	building  chan struct{}   // holds a token for each index that documents are being added to
	logger    *slog.Logger
	brain     string // id
	key       string // Record.Key
	now       func() time.Time
}

// startIndexer subscribes first and builds the index afterwards, so that it misses no commit
// between the two. It calls built when the index is built or cannot be built.
func startIndexer(st *store.Store, cfg indexerConfig, built func()) *indexer {
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &indexer{
		cfg:      cfg,
		ended:    make(chan struct{}),
		size:     indexSize{changed: cfg.measured},
		begun:    cfg.now(),
		mirror:   newMirror(st, &cfg),
		dirty:    map[string]struct{}{},
		marked:   1,
		server:   st.Server(),
		progress: make(chan struct{}),
		wake:     wakeup.New(),
	}
	unsubscribe := st.Subscribe(x.mark)
	x.stop = func(cause error) {
		unsubscribe()
		cancel(cause)
	}
	go x.run(ctx, built)
	return x
}

// mark is the store's sink: it runs inside a commit and must not wait.
func (x *indexer) mark(e store.ChangeEvent) {
	if e.Kind == store.Missed {
		return // the next search finds the store Broken, which ends the indexer
	}
	x.mu.Lock()
	x.dirty[e.Path] = struct{}{}
	if e.OldPath != "" {
		x.dirty[e.OldPath] = struct{}{}
	}
	x.marked++
	if e.Last {
		x.seq = e.Seq
	}
	x.mu.Unlock()
	x.wake.Set()
}

// reached has the index compared with the documents if the server has changed.
func (x *indexer) reached(server uint64) {
	x.mu.Lock()
	same := x.server == server
	if !same {
		x.server = server
		x.marked++
	}
	x.mu.Unlock()
	if !same {
		x.wake.Set()
	}
}

func (x *indexer) run(ctx context.Context, built func()) {
	defer close(x.ended)
	err := x.build(ctx)
	built()
	if err == nil {
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

func (x *indexer) build(ctx context.Context) error {
	if err := x.mirror.build(ctx); err != nil {
		return fmt.Errorf("build the index: %w", err)
	}
	index, cfg := x.mirror.index, x.cfg.search
	cfg.Refused = x.countRefused
	x.searcher = search.NewSearcher(index, cfg)
	x.embedding = newEmbedding(x.searcher, index, &x.size)
	now := x.cfg.now()
	x.built.Store(&now) // before it has a size for which it could be dropped
	x.mirror.measure(&x.size)
	x.mirror.progress.complete() // writes since the build began are counted from now on
	x.advance(1)
	x.settle(x.size.bytes.Load())
	return nil
}

// countRefused counts and logs the passages that the embedder refused. They are not an error: their
// words are still searched.
func (x *indexer) countRefused(chunkIDs []string, reason error) {
	x.cfg.refused.Add(int64(len(chunkIDs)))
	x.cfg.logger.Warn("the embedder refused passages: only their words are searched",
		"brain", x.cfg.brain, "passages", len(chunkIDs), "first", chunkIDs[0], "because", reason)
}

// follow keeps the index, and with an embedder its vectors, in step with the store. It returns only
// with an error.
func (x *indexer) follow(ctx context.Context) error {
	embedding, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if x.cfg.search.Embedder != nil {
		wg.Go(func() { x.embedding.run(embedding) })
	}
	return x.drain(ctx)
}

// drain applies all marked paths until none is left, then waits for more. It returns only with an
// error.
func (x *indexer) drain(ctx context.Context) error {
	for {
		x.mu.Lock()
		dirty, marked, seq := x.dirty, x.marked, x.seq
		x.dirty = map[string]struct{}{}
		x.mu.Unlock()
		err := x.mirror.compareWithServer(ctx)
		if err == nil {
			err = x.mirror.refresh(ctx, filesAt(dirty))
		}
		if err != nil {
			return fmt.Errorf("update the index: %w", err)
		}
		x.mirror.seq = max(x.mirror.seq, seq)
		if !x.woken() {
			x.mirror.progress.complete()
		}
		x.advance(marked)
		x.embedding.wake.Set()
		x.mirror.measureIfDue(&x.size)
		var quiet <-chan time.Time
		if x.mirror.saveDue() || x.settleDue() {
			quiet = time.After(saveAfter)
		}
		select {
		case <-x.wake:
		case <-quiet:
			if x.settleDue() {
				x.settle(x.mirror.unsettled)
			}
			if x.mirror.saveDue() {
				// When ctx ends, it is still worth completing, unless the brain was deleted.
				x.mirror.save(context.WithoutCancel(ctx), func() bool {
					return x.woken() || errors.Is(context.Cause(ctx), ErrNotFound)
				})
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settleDue reports whether so much was read that the memory for it is worth returning.
func (x *indexer) settleDue() bool { return heap.Worth(x.mirror.unsettled, x.size.bytes.Load()) }

// settle returns the memory of read documents to the system, in the background.
func (x *indexer) settle(size int64) {
	x.mirror.unsettled = 0
	go heap.Settle(size)
}

// woken reports whether there are marked paths.
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

// search runs a query once the index holds every write acknowledged before the call, or once limit
// has ended, see Handle.Search. entry.acquireIndexer must precede each call.
func (x *indexer) search(ctx, limit context.Context, q search.Query) (SearchResult, error) {
	indexing, err := x.wait(ctx, limit)
	if err != nil {
		return SearchResult{}, err
	}
	found, err := x.searcher.Search(ctx, q)
	if found.Degraded != "" || isModelError(err) {
		x.embedding.wake.Set() // the search may have left its documents half embedded
	}
	return SearchResult{found, indexing}, err
}

// embedded returns how many passages of a document have a vector.
func (x *indexer) embedded(path string) int {
	x.mu.Lock()
	built := x.applied > 0
	x.mu.Unlock()
	if !built {
		return 0
	}
	return x.mirror.index.Embedded(path)
}

func isModelError(err error) bool {
	_, ok := errors.AsType[*search.ModelError](err)
	return ok
}

// wait returns once the index holds every write acknowledged before the call, or once limit is
// known to end earlier. In the second case it returns the progress of the index, or an
// *UnreadyError if the index was never complete.
func (x *indexer) wait(ctx, limit context.Context) (*protocol.Indexing, error) {
	defer x.pending.Add(-1)
	x.mu.Lock()
	defer x.mu.Unlock()
	target, expired := x.marked, x.hopeless(limit)
	for x.applied < target && x.err == nil && !expired {
		progress := x.progress
		x.mu.Unlock()
		select {
		case <-progress:
		case <-limit.Done():
		}
		x.mu.Lock()
		expired = limit.Err() != nil
	}
	switch {
	case x.applied >= target:
		return nil, nil
	case x.err != nil:
		return nil, x.err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return x.behind()
}

// hopeless reports whether the index is known to need more time than is left until limit. The
// caller holds mu.
func (x *indexer) hopeless(limit context.Context) bool {
	deadline, ok := limit.Deadline()
	_, remaining := x.mirror.progress.indexing(len(x.dirty))
	return ok && remaining > time.Until(deadline)
}

// behind is the result of wait while the index lacks writes. The caller holds mu.
func (x *indexer) behind() (*protocol.Indexing, error) {
	if x.applied > 0 {
		state, _ := x.mirror.progress.indexing(len(x.dirty))
		return &state, nil
	}
	state, remaining := x.mirror.progress.indexing(0) // a search need not wait for later writes
	return nil, &UnreadyError{x.cfg.brain, &state, retryAfter(remaining, x.cfg.now().Sub(x.begun))}
}

// failed reports whether the index is no longer kept up to date.
func (x *indexer) failed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err != nil
}

// close ends the indexer. Searches that still wait fail with cause.
func (x *indexer) close(cause error) {
	x.stop(cause)
	<-x.ended
}

// closeSaved is close for an index that will be needed again: it saves a snapshot if one is due.
func (x *indexer) closeSaved(cause error) {
	x.close(cause)
	if x.mirror.saveDue() {
		x.mirror.save(context.Background(), func() bool { return false })
	}
}
