package brain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"evalctl/daemon/store"
)

// Store returns the documents of the brain. The caller must have acquired the brain. The store
// belongs to the service: callers must not close it. A damaged store is reopened, which repairs it.
// Opening may take long: git reads every document. It goes on when ctx ends, so that the next call
// waits less.
func (h Handle) Store(ctx context.Context) (*store.Store, error) {
	if st := h.entry.usable(); st != nil {
		return st, nil
	}
	type result struct {
		store    *store.Store
		err      error
		panicked any
	}
	done := make(chan result, 1)
	release := h.Acquire()
	go func() {
		defer release()
		var res result
		defer func() {
			if p := recover(); p != nil {
				res.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- res
		}()
		h.entry.mu.Lock()
		defer h.entry.mu.Unlock()
		res.store, res.err = h.openStore(context.WithoutCancel(ctx))
	}()
	select {
	case res := <-done:
		if res.panicked != nil {
			panic(res.panicked) // in the goroutine of the caller, which reports it
		}
		return res.store, res.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// usable returns the store if it can be used at once, or nil. It does not need mu.
func (e *entry) usable() *store.Store {
	st := e.open.Load()
	if st == nil || e.err() != nil || st.Broken() || st.Replaced() {
		return nil
	}
	return st
}

// openStore requires entry.mu.
func (h Handle) openStore(ctx context.Context) (*store.Store, error) {
	if err := h.Err(); err != nil {
		return nil, err
	}
	h.entry.closeDamaged()
	if h.entry.store == nil {
		h.pool.admit(h.entry)
		if err := h.entry.openStore(ctx); err != nil {
			h.pool.remove(h.entry)
			h.noteGone(err)
			return nil, err
		}
	}
	return h.entry.store, nil
}

// errSearchWait is the cause with which the context of limitWait ends.
var errSearchWait = errors.New("the search has waited long enough")

// limitWait returns a context that ends when a search that begins now has waited long enough.
func (h Handle) limitWait(ctx context.Context) (limit context.Context, cancel context.CancelFunc) {
	return context.WithTimeoutCause(ctx, h.entry.cfg.searchWait, errSearchWait)
}

// SearchableStore is Store for a search. If opening takes longer than Config.SearchWait, it returns
// an *UnreadyError.
func (h Handle) SearchableStore(ctx context.Context) (*store.Store, error) {
	limit, cancel := h.limitWait(ctx)
	defer cancel()
	return h.storeWithin(ctx, limit)
}

func (h Handle) storeWithin(ctx, limit context.Context) (*store.Store, error) {
	st, err := h.Store(limit)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limit), errSearchWait) {
		if h.entry.open.Load() != nil { // it was opened just now
			return h.Store(ctx)
		}
		return nil, &UnreadyError{Brain: h.entry.id(), Retry: max(h.entry.cfg.searchWait, minRetry)}
	}
	return st, err
}
