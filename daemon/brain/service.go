// Package brain opens and keeps brains, with their stores and search indexes.
//
// Service finds, creates and deletes brains. A Handle is one of them: callers acquire it and work
// with its Store, its Search and its change events (see package memory).
//
// Each file uses only those after it: service, lifecycle, list and idle, handle, pool (the open
// stores and indexes), entry (one brain), indexer (its index), the parts of the indexer (mirror,
// documents, embedding, snapshot), and the catalog.
package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/search"
)

// Service holds the brains. It is safe for concurrent use.
type Service struct {
	now     func() time.Time
	entries entryConfig
	catalog Catalog
	shared  SharedCatalog // the catalog, if other processes use it; otherwise nil
	pool    *pool

	stopWatch context.CancelFunc
	watching  sync.WaitGroup

	stopJanitor func()
	refused     atomic.Int64 // passages
	unusable    atomic.Int64 // snapshots
	damaged     int          // brains

	// changing counts the brains that are being created or deleted. Close waits
	// for them.
	changing sync.WaitGroup

	mu      sync.Mutex         // never held during disk access
	brains  map[ownName]*entry // by id, damaged ones included
	slugs   map[ownName]string // ids of brains
	lookups uint64             // that were begun, see adopt
	tidied  time.Time          // when endIdle has looked at all brains
	closed  bool
}

// ownName is an id or a slug of a brain of one tenant. No tenant's names depend on another's.
type ownName struct{ tenant, name string }

func idOf(r Record) ownName   { return ownName{r.Tenant, r.Brain.ID} }
func slugOf(r Record) ownName { return ownName{r.Tenant, r.Brain.Slug} }

// Open loads the brains of cfg.Catalog. The caller must Close the service.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Catalog == nil {
		return nil, errors.New("brain service: Catalog is required")
	}
	fail := func(err error) (*Service, error) {
		if cfg.Leases != nil {
			cfg.Leases.Close()
		}
		return nil, errors.Join(err, cfg.Catalog.Close())
	}
	if cfg.OpenStore == nil {
		return fail(errors.New("brain service: OpenStore is required"))
	}
	shared, _ := cfg.Catalog.(SharedCatalog)
	load := cfg.Catalog.Load
	if shared != nil {
		load = shared.Damaged // the others are added when they are used
	}
	records, err := load(ctx)
	if err != nil {
		return fail(err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Search.CircuitBreaker = cmp.Or(cfg.Search.CircuitBreaker, &search.CircuitBreaker{}) // brains share the models
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &Service{
		now: cfg.Now, catalog: cfg.Catalog, shared: shared,
		brains: map[ownName]*entry{}, slugs: map[ownName]string{},
	}
	s.pool = newPool(cfg, s.endIdle)
	s.entries = entryConfig{
		drop: s.dropNow, openStore: cfg.OpenStore, hasStore: cfg.HasStore, catalog: cfg.Catalog, leases: cfg.Leases, now: cfg.Now, logger: cfg.Logger,
		searchWait: cmp.Or(cfg.SearchWait, DefaultSearchWait),
		indexer: indexerConfig{
			search: cfg.Search, snapshots: cfg.Snapshots, options: &search.Options{ChunkSize: cfg.ChunkSize, Language: cfg.Language},
			building: make(chan struct{}, 1), measured: s.pool.measured.Set, refused: &s.refused, unusable: &s.unusable, logger: cfg.Logger, now: cfg.Now,
		},
	}
	for _, r := range records {
		s.brains[idOf(r)] = newEntry(r, &s.entries)
		if r.Damage != nil {
			cfg.Logger.Error("a brain cannot be used", "brain", r.Brain.ID, "because", r.Damage)
			s.damaged++
			continue // its slug may be missing
		}
		if id, ok := s.slugs[slugOf(r)]; !ok || r.Brain.ID < id { // a catalog may repeat a slug
			s.slugs[slugOf(r)] = r.Brain.ID
		}
	}
	s.stopJanitor = s.pool.startJanitor()
	if shared != nil {
		watch, stop := context.WithCancel(context.Background())
		s.stopWatch = stop
		s.watching.Go(func() { s.watch(watch) })
	}
	return s, nil
}

// Find returns a handle on the brain with an id: the brain of no tenant, or else the only one of
// any tenant. If there is none, it is ErrNotFound, and if several tenants have one, ErrExists. If
// other processes use the brains, it knows only those that were created or refreshed here, see
// Refresh. An id that no brain can have is an *ArgumentError. The error of a damaged brain is its
// damage. If its tenant cannot be read, it belongs to no tenant.
func (s *Service) Find(id string) (Handle, error) {
	if err := checkID("brain id", id); err != nil {
		return Handle{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.brains[ownName{"", id}]; ok || s.closed {
		return s.find(ownName{"", id})
	}
	var found ownName
	for name := range s.brains {
		switch {
		case name.name != id:
		case found != ownName{}:
			return Handle{}, fmt.Errorf("%w: several tenants have a brain called %s: start the daemon with their keys",
				ErrExists, id)
		default:
			found = name
		}
	}
	if found == (ownName{}) {
		return Handle{}, notFound(id)
	}
	return s.find(found)
}

// FindOf is Find for the brain of a tenant. Tenant is empty for brains that were created while the
// daemon ran without keys.
func (s *Service) FindOf(tenant, id string) (Handle, error) {
	if err := checkID("brain id", id); err != nil {
		return Handle{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(ownName{tenant, id})
}

// FindSlug is FindOf for the brain that has the slug.
func (s *Service) FindSlug(tenant, slug string) (Handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.slugs[ownName{tenant, slug}]
	if !ok && !s.closed {
		return Handle{}, notFound(slug)
	}
	return s.find(ownName{tenant, id})
}

// find requires mu.
func (s *Service) find(name ownName) (Handle, error) {
	if s.closed {
		return Handle{}, ErrClosed
	}
	e, ok := s.brains[name]
	if !ok || e.busy {
		return Handle{}, notFound(name.name)
	}
	if damage := e.record().Damage; damage != nil {
		return Handle{}, damage
	}
	e.touch() // so that it is not idle until the caller acquires it
	return Handle{e, s.pool}, nil
}

func notFound(id string) error {
	return fmt.Errorf("%w: %s: create it with POST /v1/brains", ErrNotFound, id)
}

// Damaged returns the number of brains whose record could not be read.
func (s *Service) Damaged() int { return s.damaged }

// RefusedPassages counts the passages that the embedder has refused, in all brains: only their
// words are searched.
func (s *Service) RefusedPassages() int64 { return s.refused.Load() }

// UnusableSnapshots counts the snapshots of indexes that were unusable or could not be read in
// time, so that the indexes were built from their documents.
func (s *Service) UnusableSnapshots() int64 { return s.unusable.Load() }

// IndexBytes returns the approximate memory of the loaded search indexes.
func (s *Service) IndexBytes() int64 { return s.pool.indexBytes() }

// Close closes every brain. Later calls do nothing; later operations fail
// with ErrClosed.
func (s *Service) Close() error {
	s.stopJanitor()
	if s.shared != nil {
		s.stopWatch()
		s.watching.Wait()
	}
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.changing.Wait() // from here on s.brains does not change
	var errs []error
	for _, e := range s.brains {
		if err := e.close((*indexer).closeSaved, ErrClosed); err != nil {
			errs = append(errs, fmt.Errorf("close brain %s: %w", e.id(), err))
		}
	}
	if s.entries.leases != nil {
		s.entries.leases.Close()
	}
	return errors.Join(append(errs, s.catalog.Close())...)
}
