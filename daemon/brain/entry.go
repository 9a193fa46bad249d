package brain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"evalctl/daemon/store"
)

// errReopened is returned to searches that wait for the index of a damaged store.
var errReopened = fmt.Errorf("%w: the store is being reopened", store.ErrReadOnly)

// errDropped is never returned to a caller: an index that a search waits for is
// not dropped.
var errDropped = errors.New("the index was dropped")

// entry is one brain. Its store is opened on first use, its index built on the first search. mu
// guards the fields below it. It is held while a store is opened or closed, and while the
// snapshot of a dropped index is written, which may take long, but not while a search waits for
// the index.
type entry struct {
	latest atomic.Pointer[Record] // its id and UID never change
	lookup uint64                 // the one that latest is from, see Service.adopt; Service.mu guards it
	cfg    *entryConfig           // shared by all brains
	// ctx ends when the brain is deleted or the service closed. Operations then
	// fail with its cause.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// busy means that the brain is being created or deleted: its id and slug are
	// taken, but it cannot be found. Service.mu guards it.
	busy bool

	// open is the store while there is one that is not being closed, for documents: they need
	// not wait until the snapshot of an index is written.
	open   atomic.Pointer[store.Store]
	users  atomic.Int64 // see Handle.Acquire
	used   atomic.Int64 // last acquired or released, in nanoseconds of Unix time
	events *store.Relay // of any store that is open

	// indexer is nil while dropped; never without store. It is set while mu is held.
	indexer atomic.Pointer[indexer]

	mu       mutex
	store    *store.Store // nil while closed
	searched time.Time    // when indexer was last acquired
}

// entryConfig configures the stores and indexes of all brains.
type entryConfig struct {
	drop      func(e *entry, cause error) // see Service.drop
	openStore func(ctx context.Context, r Record) (*store.Store, error)
	hasStore  func(key string) (bool, error) // nil does not check
	catalog   Catalog
	leases    Leases        // nil: no other process uses the brains
	indexer   indexerConfig // without brain
	// searchWait is Config.SearchWait.
	searchWait time.Duration
	logger     *slog.Logger
	now        func() time.Time
}

func newEntry(r Record, cfg *entryConfig) *entry {
	e := &entry{mu: newMutex(), cfg: cfg, events: store.NewRelay(cfg.logger)}
	e.latest.Store(&r)
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e
}

// err returns the error of operations on the brain, nil while it is usable.
func (e *entry) err() error { return context.Cause(e.ctx) }

// record returns the latest known record of the brain.
func (e *entry) record() Record { return *e.latest.Load() }

func (e *entry) id() string { return e.record().Brain.ID }

func (e *entry) touch() { e.used.Store(e.cfg.now().UnixNano()) }

// openStore requires mu.
func (e *entry) openStore(ctx context.Context) error {
	st, err := e.openStored(ctx)
	if err != nil {
		if isContextError(err) {
			return err
		}
		return fmt.Errorf("%w %s: %w", ErrOpen, e.id(), err)
	}
	st.Subscribe(e.events.Publish)
	e.store = st
	e.open.Store(st)
	return nil
}

// openStored opens the store, or creates the store of a new brain. The caller holds mu.
func (e *entry) openStored(ctx context.Context) (*store.Store, error) {
	if e.cfg.hasStore == nil {
		return e.cfg.openStore(ctx, e.record())
	}
	r := e.record()
	if r.Stored {
		found, err := e.cfg.hasStore(r.Key())
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, store.Damaged(nil,
				"the documents of brain %s have vanished from its folder: restore or mount them, then try again", e.id())
		}
	}
	st, err := e.cfg.openStore(ctx, r)
	if err != nil || r.Stored {
		return st, err
	}
	// Not earlier: a crash before this leaves a store that is opened like a new one.
	r.Stored = true
	if err := e.cfg.catalog.Update(context.WithoutCancel(ctx), r); err != nil {
		e.cfg.logger.Warn("the record of a brain cannot be updated; tried again when its store is opened next",
			"brain", e.id(), "because", err)
		return st, nil
	}
	e.latest.Store(&r) // an entry that replaces this one has to know it too
	return st, nil
}

// closeDamaged closes a store that accepts no more commits, or whose documents another program has
// replaced. The caller holds mu.
func (e *entry) closeDamaged() {
	if e.store == nil || !e.store.Broken() && !e.store.Replaced() {
		return
	}
	e.cfg.logger.Warn("reopening a store that is damaged or was changed by another program", "brain", e.id())
	if err := e.closeStore((*indexer).close, errReopened); err != nil {
		e.cfg.logger.Warn("a damaged store failed to close", "brain", e.id(), "because", err)
	}
}

// acquireIndexer returns the indexer of the open store for one call of indexer.search. It starts
// one if there is none or if it failed: a failure is reported to the searches that waited, the next
// one tries again. The caller holds mu.
func (e *entry) acquireIndexer() *indexer {
	e.searched = e.cfg.now()
	x := e.indexer.Load()
	if x != nil && x.failed() {
		x.close(nil)
		e.indexer.Store(nil)
		x = nil
	}
	if x == nil {
		cfg := e.cfg.indexer
		cfg.brain, cfg.key = e.id(), e.record().Key()
		e.users.Add(1) // until the index is built, whether or not a search waits for it
		x = startIndexer(e.store, cfg, func() { e.touch(); e.users.Add(-1) })
		e.indexer.Store(x)
	}
	x.reached(e.store.Server())
	x.pending.Add(1)
	return x
}

// dropIndex reports whether it dropped the index. It keeps an index that a search uses or has used
// after the given time. It never waits for a lock.
func (e *entry) dropIndex(searched time.Time) bool {
	if !e.mu.TryLock() {
		return false
	}
	defer e.mu.Unlock()
	x := e.indexer.Load()
	if x == nil || x.pending.Load() > 0 || !e.searched.Equal(searched) {
		return false
	}
	e.indexer.Store(nil)
	x.closeSaved(errDropped)
	return true
}

// close ends the brain: operations and waiting searches fail with cause. end is the method of the
// indexer that closes it.
func (e *entry) close(end func(*indexer, error), cause error) error {
	e.cancel(cause)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closeStore(end, cause)
}

// closeStore closes the indexer and the store. The next use of the brain opens them again. The
// caller holds mu.
func (e *entry) closeStore(end func(*indexer, error), cause error) error {
	e.open.Store(nil)
	if x := e.indexer.Swap(nil); x != nil {
		end(x, cause)
	}
	if e.store == nil {
		return nil
	}
	st := e.store
	e.store = nil
	return st.Close()
}
