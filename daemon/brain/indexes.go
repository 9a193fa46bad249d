package brain

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"evalctl/daemon/search"
)

// DefaultIndexMemory is the limit of Config.IndexMemory.
const DefaultIndexMemory = 1 << 30

const (
	// indexIdle is how long an index is kept that nobody searches.
	indexIdle = 10 * time.Minute
	// idleCheck is the pause between looks for such indexes, and for stores that
	// nobody uses.
	idleCheck = time.Minute
)

// errDropped is told to nobody: an index that a search waits for is not dropped.
var errDropped = errors.New("the index was dropped")

// measureShare of the documents must have changed for an index to be measured
// once more, which visits all of it.
const measureShare = 1. / 20

func (x *indexer) measureIfDue() {
	if float64(x.counts.measured) > measureShare*float64(x.index.Len()) {
		x.measure()
	}
}

func (x *indexer) measure() {
	x.counts.measured = 0
	x.bytes.Store(x.index.Bytes())
	x.cfg.measured()
}

// startKeeping sets stopKeeping.
func (s *Service) startKeeping() {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.keepIdle(ctx) })
	s.stopKeeping = func() {
		cancel()
		wg.Wait()
	}
}

// keepIdle drops indexes and closes stores until ctx ends.
func (s *Service) keepIdle(ctx context.Context) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.measured:
		}
		s.dropIndexes()
		s.closeIdleStores()
	}
}

// indexGrew wakes keepIdle.
func (s *Service) indexGrew() {
	select {
	case s.measured <- struct{}{}:
	default:
	}
}

// dropIndexes drops every index that was not searched for indexIdle, and of the
// others those not searched for the longest time, until the rest is within the
// limit. It spares those that searches wait for, and the one searched last: it
// would only be built again for the next search.
func (s *Service) dropIndexes() {
	type use struct {
		entry    *entry
		searched time.Time
		bytes    int64
	}
	var uses []use
	var total int64
	s.mu.Lock()
	entries := make([]*entry, 0, len(s.brains))
	for _, e := range s.brains {
		entries = append(entries, e)
	}
	s.mu.Unlock()
	for _, e := range entries {
		e.mu.Lock()
		if e.indexer != nil {
			u := use{e, e.searched, e.indexer.bytes.Load()}
			uses = append(uses, u)
			total += u.bytes
		}
		e.mu.Unlock()
	}
	slices.SortFunc(uses, func(a, b use) int { return a.searched.Compare(b.searched) })
	now := s.cfg.Now()
	for i, u := range uses {
		idle := now.Sub(u.searched) >= indexIdle
		if idle || total > s.cfg.IndexMemory && i < len(uses)-1 {
			if u.entry.dropIndex(u.searched) {
				total -= u.bytes
			}
		}
	}
}

// dropIndex reports whether it dropped the index: not when somebody searches it
// or has searched it since.
func (e *entry) dropIndex(searched time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.indexer
	if x == nil || x.pending.Load() > 0 || !e.searched.Equal(searched) {
		return false
	}
	e.indexer = nil
	x.closeSaved(errDropped)
	return true
}

// startIndexer starts the indexer of a brain. Brains that are kept on disk keep
// snapshots of their indexes as well.
func (s *Service) startIndexer(e *entry) *indexer {
	cfg := indexerConfig{
		search: s.cfg.Search, options: &search.Options{ChunkSize: s.cfg.ChunkSize}, measured: s.indexGrew, refused: &s.refused, logger: s.cfg.Logger, brain: e.brain.ID, now: s.cfg.Now,
	}
	if s.catalog != nil {
		cfg.snapshots = &snapshots{catalog: s.catalog, dir: e.brain.ID}
	}
	return startIndexer(e.store, cfg)
}
