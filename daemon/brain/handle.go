package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// Handle is one brain. It stays with that brain: once it is deleted, every
// operation is ErrNotFound, also when its id has become another brain's. So
// whoever may use a brain is asked once, when the handle is given to him.
// Handles of the same brain are equal. They are safe for concurrent use.
type Handle struct {
	s *Service
	e *entry
}

// entry is one brain. Its store is opened when first used, its index built
// when first searched. mu guards what lies below it, never a long wait.
type entry struct {
	brain  protocol.Brain
	tenant string
	// life ends when the brain is deleted or the service closed. Its cause is
	// what operations fail with from then on.
	life context.Context
	end  context.CancelCauseFunc
	// busy means that the brain is being created or deleted: its id and slug are
	// taken, but it cannot be found. Service.mu guards it.
	busy bool

	users atomic.Int64 // see Hold
	used  atomic.Int64 // when somebody last held or released it, in ns of Unix time
	sinks sinks

	mu       sync.Mutex
	store    *store.Store
	indexer  *indexer
	searched time.Time // when indexer was last asked for
}

func newEntry(b protocol.Brain, tenant string) *entry {
	e := &entry{brain: b, tenant: tenant}
	e.life, e.end = context.WithCancelCause(context.Background())
	return e
}

// Brain describes the brain.
func (h Handle) Brain() protocol.Brain { return h.e.brain }

// Tenant is who owns the brain. It is empty for a brain that was created where
// nobody authenticates.
func (h Handle) Tenant() string { return h.e.tenant }

// Gone is closed when the brain is deleted or the service closed.
func (h Handle) Gone() <-chan struct{} { return h.e.life.Done() }

// Err is nil until Gone is closed, then ErrNotFound or ErrClosed.
func (h Handle) Err() error { return context.Cause(h.e.life) }

// Hold keeps the store of the brain open, once it is, until release is called.
// A brain that nobody holds may have it closed at any time. Deletion, Close and
// damage do not wait for holders.
func (h Handle) Hold() (release func()) {
	h.e.users.Add(1)
	touch := func() { h.e.used.Store(h.s.cfg.Now().UnixNano()) }
	touch()
	return func() {
		touch()
		h.e.users.Add(-1)
	}
}

// Store returns the documents of the brain, for callers that Hold it. The store
// belongs to the service: callers must not close it. A store that is damaged is
// opened anew, which repairs it.
func (h Handle) Store(ctx context.Context) (*store.Store, error) {
	h.e.mu.Lock()
	defer h.e.mu.Unlock()
	return h.openStore(ctx)
}

// openStore needs e.mu.
func (h Handle) openStore(ctx context.Context) (*store.Store, error) {
	if err := h.Err(); err != nil {
		return nil, err
	}
	e, id := h.e, h.e.brain.ID
	if e.store != nil && e.store.Broken() {
		h.s.cfg.Logger.Warn("a damaged store is opened anew", "brain", id)
		if err := e.shut((*indexer).close, errReopened); err != nil {
			h.s.cfg.Logger.Warn("a damaged store did not close", "brain", id, "because", err)
		}
	}
	if e.store == nil {
		h.s.makeRoom(e)
		st, err := h.s.cfg.OpenStore(ctx, id)
		if err != nil {
			h.s.stores.remove(e)
			return nil, fmt.Errorf("open brain %s: %w", id, err)
		}
		st.Subscribe(e.sinks.publish)
		e.store = st
	}
	return e.store, nil
}

// Delete removes the brain with all its documents. Operations on it that are
// under way may fail.
func (h Handle) Delete(_ context.Context) error {
	retired, err := h.retire()
	if err != nil {
		return err
	}
	if err := h.s.catalog.purge(retired); err != nil {
		return fmt.Errorf("brain %s is deleted, but some of its files remain until the next start: %w", h.e.brain.ID, err)
	}
	return nil
}

// retire ends the brain. The others go on meanwhile: to close the store may take
// long, the more so if it is just being opened.
func (h Handle) retire() (string, error) {
	s, e, id := h.s, h.e, h.e.brain.ID
	s.mu.Lock()
	if err := h.Err(); err != nil || s.closed {
		s.mu.Unlock()
		return "", cmp.Or(err, ErrClosed)
	}
	e.busy = true
	e.end(notFound(id))
	s.changing.Add(1)
	defer s.changing.Done()
	s.mu.Unlock()

	closeErr := e.close((*indexer).close, notFound(id))
	s.stores.remove(e)
	retired, err := s.catalog.retire(id)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.brains[id] = newEntry(e.brain, e.tenant) // still there: usable again
		return "", fmt.Errorf("delete brain %s: %w", id, errors.Join(closeErr, err))
	}
	delete(s.brains, id)
	if closeErr != nil {
		return "", fmt.Errorf("brain %s is deleted, but its store did not close: %w", id, closeErr)
	}
	return retired, nil
}

// close ends the brain's life, its indexer, by one of the indexer's methods, and
// its store; searches that wait get cause.
func (e *entry) close(end func(*indexer, error), cause error) error {
	e.end(cause)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shut(end, cause)
}

// shut is close for a brain that lives on: whoever uses it next opens its store
// again. It needs e.mu.
func (e *entry) shut(end func(*indexer, error), cause error) error {
	if e.indexer != nil {
		end(e.indexer, cause)
		e.indexer = nil
	}
	if e.store == nil {
		return nil
	}
	st := e.store
	e.store = nil
	return st.Close()
}
