// Package brain gives memory operations on named brains: their documents,
// search over them, and grounded questions answered by a language model.
package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
	"evalctl/internal/llm"
)

// Config says where brains live and who reads for them. OpenStore, Reader and
// Model are required.
type Config struct {
	// Dir holds one folder a brain, each with a brain.json. Empty keeps brains
	// in memory only.
	Dir string
	// OpenStore opens the documents of a brain that exists. It is called at
	// most once at a time for an id; the service closes what it returns.
	OpenStore func(ctx context.Context, id string) (*store.Store, error)
	// Reader answers questions, running Model.
	Reader llm.Provider
	Model  string
	// Search says who embeds and reranks; the zero value ranks by BM25 only.
	Search search.Config
	// ChunkSize is the largest size of a passage in bytes, from search.MinChunkSize
	// to search.MaxChunkSize; 0 means search.DefaultChunkSize.
	ChunkSize int
	// IndexMemory is how much memory the indexes of all brains may take together,
	// in bytes; 0 means DefaultIndexMemory. It holds for idle indexes: the last
	// one that was searched stays, and so do those that searches wait for.
	IndexMemory int64
	// Logger hears of indexes that had to be built anew. Nil discards that.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service holds the brains. It is safe for concurrent use.
type Service struct {
	cfg     Config
	catalog *catalog

	measured    chan struct{} // holds a token after the size of an index changed
	stopKeeping func()        // ends keepIndexes
	refused     atomic.Int64  // passages

	mu     sync.Mutex
	brains map[string]*entry
	closed bool
}

// entry is one brain. Its store is opened when first used, its index built
// when first searched. mu guards what lies below it, never a long wait.
type entry struct {
	brain  protocol.Brain
	tenant string

	mu       sync.Mutex
	gone     bool
	store    *store.Store
	indexer  *indexer
	searched time.Time // when indexer was last asked for
}

// Open reads the brains of cfg.Dir. The caller must Close the service.
func Open(cfg Config) (*Service, error) {
	if cfg.OpenStore == nil || cfg.Reader == nil || cfg.Model == "" {
		return nil, errors.New("brain service: OpenStore, Reader and Model are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.IndexMemory = cmp.Or(cfg.IndexMemory, DefaultIndexMemory)
	cfg.Search.Outages = cmp.Or(cfg.Search.Outages, &search.Outages{}) // brains share the models
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &Service{cfg: cfg, brains: map[string]*entry{}, measured: make(chan struct{}, 1)}
	if cfg.Dir != "" {
		c, brains, err := openCatalog(cfg.Dir)
		if err != nil {
			return nil, err
		}
		s.catalog = c
		for _, r := range brains {
			s.brains[r.Brain.ID] = &entry{brain: r.Brain, tenant: r.Tenant}
		}
	}
	s.startKeeping()
	return s, nil
}

// Create adds a brain that tenant owns, durably when brains are kept on disk.
// Tenant is empty where nobody authenticates. Ids are unique in the service,
// slugs within a tenant: a taken one is ErrExists, but an id that the request
// leaves open evades other tenants' brains. A bad field is an *ArgumentError.
func (s *Service) Create(_ context.Context, tenant string, r protocol.CreateBrain) (protocol.Brain, error) {
	b, err := newBrain(r)
	if err != nil {
		return protocol.Brain{}, err
	}
	b.CreatedAt = s.cfg.Now().UTC().Truncate(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return protocol.Brain{}, ErrClosed
	}
	for _, e := range s.brains {
		if e.tenant == tenant && (e.brain.ID == b.ID || e.brain.Slug == b.Slug) {
			return protocol.Brain{}, fmt.Errorf("%w: %s (slug %s)", ErrExists, e.brain.ID, e.brain.Slug)
		}
	}
	if _, foreign := s.brains[b.ID]; foreign {
		if r.ID != "" {
			return protocol.Brain{}, fmt.Errorf("%w: %s", ErrExists, b.ID)
		}
		b.ID = evade(b.ID)
	}
	if err := s.catalog.add(b, tenant); err != nil {
		return protocol.Brain{}, fmt.Errorf("create brain %s: %w", b.ID, err)
	}
	s.brains[b.ID] = &entry{brain: b, tenant: tenant}
	return b, nil
}

// Get returns one brain, or ErrNotFound.
func (s *Service) Get(id string) (protocol.Brain, error) {
	e, err := s.entry(id)
	if err != nil {
		return protocol.Brain{}, err
	}
	return e.brain, nil
}

// Tenant returns who owns a brain, or ErrNotFound. It is empty for a brain
// that was created where nobody authenticates.
func (s *Service) Tenant(id string) (string, error) {
	e, err := s.entry(id)
	if err != nil {
		return "", err
	}
	return e.tenant, nil
}

// List returns every brain, ascending by id.
func (s *Service) List() []protocol.Brain {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]protocol.Brain, 0, len(s.brains))
	for _, e := range s.brains {
		list = append(list, e.brain)
	}
	slices.SortFunc(list, func(a, b protocol.Brain) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Delete removes a brain with all its documents. Operations on it that are
// under way may fail.
func (s *Service) Delete(_ context.Context, id string) error {
	retired, err := s.retire(id)
	if err != nil {
		return err
	}
	if err := s.catalog.purge(retired); err != nil {
		return fmt.Errorf("brain %s is deleted, but some of its files remain until the next start: %w", id, err)
	}
	return nil
}

func (s *Service) retire(id string) (string, error) {
	e, err := s.entry(id)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.brains[id] != e {
		return "", notFound(id)
	}
	closeErr := e.close((*indexer).close, notFound(id))
	retired, err := s.catalog.retire(id)
	if err != nil {
		s.brains[id] = &entry{brain: e.brain, tenant: e.tenant} // still there: usable again
		return "", fmt.Errorf("delete brain %s: %w", id, errors.Join(closeErr, err))
	}
	delete(s.brains, id)
	if closeErr != nil {
		return "", fmt.Errorf("brain %s is deleted, but its store did not close: %w", id, closeErr)
	}
	return retired, nil
}

// Store returns the documents of a brain. The store belongs to the service:
// callers must not close it.
func (s *Service) Store(ctx context.Context, id string) (*store.Store, error) {
	e, err := s.entry(id)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.openStore(ctx, e)
}

// openStore needs e.mu.
func (s *Service) openStore(ctx context.Context, e *entry) (*store.Store, error) {
	if e.gone {
		return nil, notFound(e.brain.ID)
	}
	if e.store == nil {
		st, err := s.cfg.OpenStore(ctx, e.brain.ID)
		if err != nil {
			return nil, fmt.Errorf("open brain %s: %w", e.brain.ID, err)
		}
		e.store = st
	}
	return e.store, nil
}

// entry finds a brain. An id that could never be one is an *ArgumentError.
func (s *Service) entry(id string) (*entry, error) {
	if err := checkID("brain id", id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	e, ok := s.brains[id]
	if !ok {
		return nil, notFound(id)
	}
	return e, nil
}

func notFound(id string) error {
	return fmt.Errorf("%w: %s: create it with POST /v1/brains", ErrNotFound, id)
}

// close ends the brain's indexer, by one of its methods, and store; searches
// that wait get cause. The entry is unusable afterwards.
func (e *entry) close(end func(*indexer, error), cause error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
	if e.indexer != nil {
		end(e.indexer, cause)
	}
	if e.store == nil {
		return nil
	}
	return e.store.Close()
}

// Close closes every brain. Later calls do nothing; later operations fail
// with ErrClosed.
func (s *Service) Close() error {
	s.stopKeeping()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for id, e := range s.brains {
		if err := e.close((*indexer).closeSaved, ErrClosed); err != nil {
			errs = append(errs, fmt.Errorf("close brain %s: %w", id, err))
		}
	}
	return errors.Join(append(errs, s.catalog.close())...)
}
