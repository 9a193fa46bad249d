package brain

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"evalctl/internal/wakeup"
)

// Defaults of Config.OpenStores and Config.IndexMemory.
const (
	DefaultOpenStores  = 64
	DefaultIndexMemory = 1 << 30
)

const (
	// storeIdle is how long an unused store stays open.
	storeIdle = 10 * time.Minute
	// indexIdle is how long an index is kept without a search.
	indexIdle = 10 * time.Minute
	// idleCheck is the interval at which the janitor looks for both.
	idleCheck = time.Minute
)

// pool holds the brains whose store is open or being opened. It limits the number of stores and the
// memory of indexes.
type pool struct {
	persistent  bool // stores may be closed and reopened
	maxStores   int
	indexMemory int64 // bytes
	logger      *slog.Logger
	now         func() time.Time
	measured    wakeup.Signal // after the size of an index changed
	endIdle     func()        // called after idle stores were closed

	mu      sync.Mutex
	entries map[*entry]struct{}
}

func newPool(cfg Config, endIdle func()) *pool {
	return &pool{
		persistent: cfg.Persistent,
		maxStores:  cmp.Or(cfg.OpenStores, DefaultOpenStores), indexMemory: cmp.Or(cfg.IndexMemory, DefaultIndexMemory),
		logger: cfg.Logger, now: cfg.Now, measured: wakeup.New(), entries: map[*entry]struct{}{},
		endIdle: endIdle,
	}
}

// admit adds e, whose mu the caller holds and whose store it is about to open. It closes unused
// stores until the limit allows one more.
func (p *pool) admit(e *entry) {
	p.mu.Lock()
	p.entries[e] = struct{}{}
	p.mu.Unlock()
	p.evictStores()
}

func (p *pool) remove(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, e)
}

func (p *pool) evictStores() {
	if !p.persistent {
		return
	}
	list, open := p.unused()
	for _, e := range list {
		if open <= p.maxStores {
			return
		}
		if p.closeUnused(e) {
			open--
		}
	}
}

// unused returns the brains that nobody has acquired, those unused for the longest time first, and
// the number of open stores.
func (p *pool) unused() (list []*entry, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.entries {
		if e.users.Load() == 0 {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	return list, len(p.entries)
}

// closeUnused reports whether the store of e is closed. It never waits for a lock: the caller may
// hold the mu of another brain.
func (p *pool) closeUnused(e *entry) bool {
	if !e.mu.TryLock() {
		return false // about to be used
	}
	defer e.mu.Unlock()
	// Clear it before users is read: a later user of the brain then finds no store, and waits.
	e.open.Store(nil)
	if e.users.Load() > 0 {
		e.open.Store(e.store)
		return false
	}
	p.remove(e)
	if err := e.closeStore((*indexer).closeSaved, errDropped); err != nil {
		p.logger.Warn("an unused store failed to close", "brain", e.id(), "because", err)
	}
	return true
}

// startJanitor drops indexes and closes stores in the background until stop is
// called.
func (p *pool) startJanitor() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { p.janitor(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (p *pool) janitor(ctx context.Context) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-p.measured:
		}
		p.dropIndexes()
		p.closeIdleStores()
		p.endIdle()
	}
}

// closeIdleStores closes the stores that were unused for storeIdle. Stores in
// memory stay open: closing one would lose its documents.
func (p *pool) closeIdleStores() {
	if !p.persistent {
		return
	}
	list, _ := p.unused()
	before := p.now().Add(-storeIdle).UnixNano()
	for _, e := range list {
		if e.used.Load() <= before {
			p.closeUnused(e)
		}
	}
}

// dropIndexes drops every index that was not searched for indexIdle. Of the others it drops the
// longest unsearched ones, until the rest is within the limit. It keeps indexes that are being
// built or that searches wait for, and the one searched last: the next search would only build
// it again. It never waits for a lock: a store that is slow to open would keep the indexes of
// all brains in memory.
func (p *pool) dropIndexes() {
	type use struct {
		entry    *entry
		searched time.Time
		used     time.Time // searched, or built later for a search that did not wait so long
		bytes    int64
	}
	var uses []use
	var total int64
	for _, e := range p.list() {
		if !e.mu.TryLock() {
			continue
		}
		if x := e.indexer.Load(); x != nil {
			u := use{e, e.searched, e.searched, x.size.bytes.Load()}
			if built := x.built.Load(); built != nil && built.After(u.used) {
				u.used = *built
			}
			uses = append(uses, u)
			total += u.bytes
		}
		e.mu.Unlock()
	}
	slices.SortFunc(uses, func(a, b use) int { return a.used.Compare(b.used) })
	now := p.now()
	for i, u := range uses {
		idle := now.Sub(u.used) >= indexIdle
		if idle || total > p.indexMemory && i < len(uses)-1 && u.bytes > 0 { // 0: it is being built
			if u.entry.dropIndex(u.searched) {
				total -= u.bytes
			}
		}
	}
}

// indexBytes returns the memory of all indexes, each as last measured. An index that is being
// closed does not count.
func (p *pool) indexBytes() (sum int64) {
	for _, e := range p.list() {
		if x := e.indexer.Load(); x != nil {
			sum += x.size.bytes.Load()
		}
	}
	return sum
}

func (p *pool) list() []*entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*entry, 0, len(p.entries))
	for e := range p.entries {
		list = append(list, e)
	}
	return list
}
