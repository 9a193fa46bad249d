package brain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"evalctl/daemon/store"
)

// DefaultOpenStores is the limit of Config.OpenStores.
const DefaultOpenStores = 64

// storeIdle is how long a store is kept open that nobody uses.
const storeIdle = 10 * time.Minute

// errReopened is what searches get that wait for the index of a damaged store.
var errReopened = fmt.Errorf("%w for a moment: it is opened again", store.ErrReadOnly)

// openStores are the brains whose store is open or just being opened. Stores that
// are kept in memory are not among them: closed, they would lose everything.
type openStores struct {
	mu      sync.Mutex
	entries map[*entry]struct{}
}

// unused gives the brains that nobody holds, those first that were not used for
// the longest time, and how many stores are open.
func (o *openStores) unused() (list []*entry, open int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for e := range o.entries {
		if e.users.Load() == 0 {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	return list, len(o.entries)
}

func (o *openStores) add(e *entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries[e] = struct{}{}
}

func (o *openStores) remove(e *entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.entries, e)
}

// makeRoom closes stores until that of e, whose mu the caller has, may be opened.
func (s *Service) makeRoom(e *entry) {
	if s.catalog == nil {
		return
	}
	s.stores.add(e)
	list, open := s.stores.unused()
	for _, other := range list {
		if open <= s.cfg.OpenStores {
			return
		}
		if s.closeUnused(other) {
			open--
		}
	}
}

// closeIdleStores closes stores that nobody has used for storeIdle.
func (s *Service) closeIdleStores() {
	list, _ := s.stores.unused()
	before := s.cfg.Now().Add(-storeIdle).UnixNano()
	for _, e := range list {
		if e.used.Load() <= before {
			s.closeUnused(e)
		}
	}
}

// closeUnused reports whether e has no open store any more. It waits for nobody:
// a caller may have the mu of another brain.
func (s *Service) closeUnused(e *entry) bool {
	if !e.mu.TryLock() {
		return false // somebody is about to use it
	}
	defer e.mu.Unlock()
	if e.users.Load() > 0 {
		return false
	}
	s.stores.remove(e)
	if err := e.shut((*indexer).closeSaved, errDropped); err != nil {
		s.cfg.Logger.Warn("an unused store did not close", "brain", e.brain.ID, "because", err)
	}
	return true
}

// sinks hear of a brain's changes, whichever store it has open.
type sinks struct {
	mu   sync.Mutex
	next uint64
	list map[uint64]func(store.ChangeEvent)
}

// Subscribe registers a sink for the events of every later commit, as
// store.Store.Subscribe does. It outlives the store: the brain may be without
// one, or get another one.
func (h Handle) Subscribe(sink func(store.ChangeEvent)) (cancel func()) {
	k := &h.e.sinks
	k.mu.Lock()
	defer k.mu.Unlock()
	id := k.next
	k.next++
	if k.list == nil {
		k.list = map[uint64]func(store.ChangeEvent){}
	}
	k.list[id] = sink
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.list, id)
	}
}

// publish is the one sink that every store of the brain has.
func (k *sinks) publish(e store.ChangeEvent) {
	k.mu.Lock()
	list := slices.Collect(maps.Values(k.list))
	k.mu.Unlock()
	for _, sink := range list {
		sink(e)
	}
}
