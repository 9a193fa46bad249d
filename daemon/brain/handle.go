package brain

import (
	"context"
	"errors"
	"fmt"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/search/document"
	"evalctl/daemon/store"
)

// Handle refers to one brain. It never refers to another one: once the brain is deleted, every
// operation is ErrNotFound, even if a new brain has the same id. It is therefore enough to check a
// caller's rights when it gets the handle. Use a handle at once, and acquire it for longer use: it
// ends after the brain was not used for a minute or longer. Handles of the same brain are equal as
// long as it is in use. They are safe for concurrent use.
type Handle struct {
	entry *entry
	pool  *pool
}

// Brain returns the description of the brain.
func (h Handle) Brain() protocol.Brain { return h.entry.record().Brain }

// Tenant returns the owner of the brain. It is empty for a brain that was created
// while the daemon ran without keys.
func (h Handle) Tenant() string { return h.entry.record().Tenant }

// Done is closed when the brain is deleted or the service closed, and some time after the brain's
// last use.
func (h Handle) Done() <-chan struct{} { return h.entry.ctx.Done() }

// Err returns nil until Done is closed, then ErrNotFound, ErrClosed, or store.ErrUnavailable if the
// brain was not in use.
func (h Handle) Err() error { return h.entry.err() }

// WhenEnded calls f in its own goroutine when Done is closed, also after the brain was not used for
// a while. f frees state that is kept for the brain.
func (h Handle) WhenEnded(f func()) { context.AfterFunc(h.entry.ctx, f) }

// Acquire prevents the store from being closed until release is called. It does not open it. The
// store of a brain that is not acquired may be closed at any time. Deletion, Close and damage do
// not wait for a release.
func (h Handle) Acquire() (release func()) {
	h.entry.users.Add(1)
	h.entry.touch()
	return func() {
		h.entry.touch()
		h.entry.users.Add(-1)
	}
}

// Skipped returns the files among the brain's documents that are not documents or cannot be read.
func (h Handle) Skipped(ctx context.Context) (store.Skips, error) {
	st, err := h.Store(ctx)
	if err != nil {
		return store.Skips{}, err
	}
	return st.Skipped(ctx)
}

// Search runs a query on the index of the brain. It sees every write that was acknowledged before
// the call, unless SearchResult.Indexing is set. It waits for the index for at most
// Config.SearchWait: an *UnreadyError means that the brain has no complete index yet. A failed
// embedder or reranker is ErrSearchModel; a mode whose model is not configured is
// search.ErrNoEmbedder or search.ErrNoReranker.
func (h Handle) Search(ctx context.Context, q search.Query) (SearchResult, error) {
	defer h.Acquire()()
	limit, cancel := h.limitWait(ctx)
	defer cancel()
	if _, err := h.storeWithin(ctx, limit); err != nil {
		return SearchResult{}, err
	}
	if err := h.Sync(ctx); err != nil {
		return SearchResult{}, err
	}
	x, err := h.indexer(ctx)
	if err != nil {
		return SearchResult{}, err
	}
	found, err := x.search(ctx, limit, q)
	h.noteGone(err)
	if isModelError(err) {
		err = fmt.Errorf("%w: %w", ErrSearchModel, err)
	}
	if _, unready := errors.AsType[*UnreadyError](err); unready {
		return SearchResult{}, err // names the brain
	}
	if err != nil {
		return SearchResult{}, fmt.Errorf("search brain %s: %w", h.entry.id(), err)
	}
	return found, nil
}

// SearchResult is the result of a search.
type SearchResult struct {
	search.Result
	// Indexing is nil if the index had every write that was acknowledged before the search.
	// Otherwise it is the progress of the index with the missing ones.
	Indexing *protocol.Indexing
}

// Sync waits until the store has delivered the events of every commit that any process has made
// before the call. The caller must have acquired the brain.
func (h Handle) Sync(ctx context.Context) error {
	st, err := h.Store(ctx)
	if err != nil {
		return err
	}
	err = st.Sync(ctx)
	if errors.Is(err, store.ErrPruned) { // reopened, the store has all commits again
		if st, err = h.Store(ctx); err != nil {
			return err
		}
		err = st.Sync(ctx)
	}
	h.noteGone(err)
	return err
}

// Passages returns how many passages the index of the brain makes of a document, and how many of
// them have a vector at present. A passage gets its vector in the background, after the first
// search.
func (h Handle) Passages(path string, data []byte) (count, embedded int) {
	doc, ok := document.Parse(path, string(data))
	if !ok {
		return 0, 0
	}
	if x := h.entry.indexer.Load(); x != nil {
		embedded = x.embedded(path)
	}
	return len(document.Split(&doc, h.entry.cfg.indexer.options.ChunkSize)), embedded
}

func (h Handle) indexer(ctx context.Context) (*indexer, error) {
	if err := h.entry.mu.lockWithin(ctx); err != nil {
		return nil, err
	}
	defer h.entry.mu.Unlock()
	if _, err := h.openStore(ctx); err != nil {
		return nil, err
	}
	return h.entry.acquireIndexer(), nil
}

// Subscribe registers a sink for the events of every later commit, as store.Store.Subscribe does.
// The subscription outlives the store: it continues while the brain has no open store, and with the
// next one.
func (h Handle) Subscribe(sink func(store.ChangeEvent)) (cancel func()) {
	return h.entry.events.Subscribe(sink)
}
