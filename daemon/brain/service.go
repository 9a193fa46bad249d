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
	// most once at a time for an id; the service closes what it returns, and may
	// open it again. Without Dir it never does, unless the store is damaged.
	OpenStore func(ctx context.Context, id string) (*store.Store, error)
	// Reader answers questions, running Model.
	Reader llm.Provider
	Model  string
	// Search says who embeds and reranks; the zero value ranks by BM25 only.
	Search search.Config
	// ChunkSize is the largest size of a passage in bytes, from search.MinChunkSize
	// to search.MaxChunkSize; 0 means the default, 1600.
	ChunkSize int
	// IndexMemory is how much memory the indexes of all brains may take together,
	// in bytes; 0 means DefaultIndexMemory. It holds for idle indexes: the last
	// one that was searched stays, and so do those that searches wait for.
	IndexMemory int64
	// OpenStores is how many stores may be open at once; 0 means DefaultOpenStores.
	// Beyond that, those are closed that were not used for the longest time. It
	// does not hold for brains in use, nor where brains are kept in memory only.
	OpenStores int
	// Logger hears of damaged stores and of indexes that had to be built anew. Nil discards that.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service holds the brains. It is safe for concurrent use.
type Service struct {
	cfg     Config
	catalog *catalog

	measured    chan struct{} // holds a token after the size of an index changed
	stopKeeping func()        // ends keepIdle
	stores      openStores
	refused     atomic.Int64 // passages

	// changing counts the brains that are being created or deleted, whose
	// folders Close waits for.
	changing sync.WaitGroup

	mu     sync.Mutex // never held while anything waits for a disk
	brains map[string]*entry
	closed bool
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
	cfg.Search.CircuitBreaker = cmp.Or(cfg.Search.CircuitBreaker, &search.CircuitBreaker{}) // brains share the models
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.OpenStores = cmp.Or(cfg.OpenStores, DefaultOpenStores)
	s := &Service{cfg: cfg, brains: map[string]*entry{}, stores: openStores{entries: map[*entry]struct{}{}}, measured: make(chan struct{}, 1)}
	if cfg.Dir != "" {
		c, brains, err := openCatalog(cfg.Dir)
		if err != nil {
			return nil, err
		}
		s.catalog = c
		for _, r := range brains {
			s.brains[r.Brain.ID] = newEntry(r.Brain, r.Tenant)
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
	e, err := s.reserve(tenant, b, r.ID == "")
	if err != nil {
		return protocol.Brain{}, err
	}
	defer s.changing.Done()
	err = s.catalog.add(e.brain, tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.brains, e.brain.ID)
		return protocol.Brain{}, fmt.Errorf("create brain %s: %w", e.brain.ID, err)
	}
	e.busy = false
	return e.brain, nil
}

// reserve takes the id of a brain that is to be made, or one like it if the id
// may evade those of other tenants. The caller owes changing a Done.
func (s *Service) reserve(tenant string, b protocol.Brain, evasive bool) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for _, e := range s.brains {
		if e.tenant != tenant || e.brain.ID != b.ID && e.brain.Slug != b.Slug {
			continue
		}
		if e.life.Err() != nil {
			return nil, fmt.Errorf("%w: %s (slug %s) is still being deleted: try again", ErrExists, e.brain.ID, e.brain.Slug)
		}
		return nil, fmt.Errorf("%w: %s (slug %s)", ErrExists, e.brain.ID, e.brain.Slug)
	}
	if _, foreign := s.brains[b.ID]; foreign {
		if !evasive {
			return nil, fmt.Errorf("%w: %s", ErrExists, b.ID)
		}
		b.ID = evade(b.ID)
	}
	e := newEntry(b, tenant)
	e.busy = true
	s.brains[b.ID] = e
	s.changing.Add(1)
	return e, nil
}

// Find gives a handle on a brain, or ErrNotFound. An id that could never be one
// is an *ArgumentError.
func (s *Service) Find(id string) (Handle, error) {
	if err := checkID("brain id", id); err != nil {
		return Handle{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Handle{}, ErrClosed
	}
	e, ok := s.brains[id]
	if !ok || e.busy {
		return Handle{}, notFound(id)
	}
	return Handle{s, e}, nil
}

func notFound(id string) error {
	return fmt.Errorf("%w: %s: create it with POST /v1/brains", ErrNotFound, id)
}

// Owner returns the tenant of the brain that has an id, or is about to get or
// to lose it.
func (s *Service) Owner(id string) (tenant string, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.brains[id]
	if !ok {
		return "", false
	}
	return e.tenant, true
}

// List returns every brain, ascending by id.
func (s *Service) List() []protocol.Brain {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]protocol.Brain, 0, len(s.brains))
	for _, e := range s.brains {
		if !e.busy {
			list = append(list, e.brain)
		}
	}
	slices.SortFunc(list, func(a, b protocol.Brain) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Close closes every brain. Later calls do nothing; later operations fail
// with ErrClosed.
func (s *Service) Close() error {
	s.stopKeeping()
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.changing.Wait() // nobody adds to it, or changes brains, any more
	var errs []error
	for id, e := range s.brains {
		if err := e.close((*indexer).closeSaved, ErrClosed); err != nil {
			errs = append(errs, fmt.Errorf("close brain %s: %w", id, err))
		}
	}
	return errors.Join(append(errs, s.catalog.close())...)
}
