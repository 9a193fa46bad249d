package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/daemon/protocol"
)

// Create adds a brain that tenant owns, durably when brains are kept on disk.
// Tenant is empty when the daemon runs without keys. Ids are unique in the
// service, slugs within a tenant: a taken one is ErrExists. An id that the request
// leaves open gets a suffix when another tenant has it. An invalid field is an
// *ArgumentError.
func (s *Service) Create(_ context.Context, tenant string, r protocol.CreateBrain) (protocol.Brain, error) {
	b, err := newBrain(r)
	if err != nil {
		return protocol.Brain{}, err
	}
	b.CreatedAt = s.now().UTC().Truncate(time.Millisecond)
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

// reserve takes the id of a new brain. If another tenant has it and mayRename is
// set, it takes a similar one. The caller must call s.changing.Done.
func (s *Service) reserve(tenant string, b protocol.Brain, mayRename bool) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for _, e := range s.brains {
		if e.tenant != tenant || e.brain.ID != b.ID && e.brain.Slug != b.Slug {
			continue
		}
		if e.err() != nil {
			return nil, fmt.Errorf("%w: %s (slug %s) is still being deleted: try again",
				ErrExists, e.brain.ID, e.brain.Slug)
		}
		return nil, fmt.Errorf("%w: %s (slug %s)", ErrExists, e.brain.ID, e.brain.Slug)
	}
	if _, foreign := s.brains[b.ID]; foreign {
		if !mayRename {
			return nil, fmt.Errorf("%w: %s", ErrExists, b.ID)
		}
		b.ID = uniqueID(b.ID)
	}
	e := newEntry(b, tenant, &s.entries)
	e.busy = true
	s.brains[b.ID] = e
	s.changing.Add(1)
	return e, nil
}

// Delete removes the brain with all its documents. Concurrent operations on it
// may fail.
func (s *Service) Delete(_ context.Context, h Handle) error {
	retired, err := s.retire(h.entry)
	if err != nil {
		return err
	}
	if err := s.catalog.purge(retired); err != nil {
		return fmt.Errorf("brain %s is deleted, but some of its files remain until the next start: %w",
			h.entry.brain.ID, err)
	}
	return nil
}

// retire ends the brain and removes it from the catalog. It does not hold s.mu
// meanwhile, so that other brains stay usable: closing a store may take long,
// above all when it is just being opened.
func (s *Service) retire(e *entry) (string, error) {
	id := e.brain.ID
	s.mu.Lock()
	if err := e.err(); err != nil || s.closed {
		s.mu.Unlock()
		return "", cmp.Or(err, ErrClosed)
	}
	e.busy = true
	e.cancel(notFound(id))
	s.changing.Add(1)
	defer s.changing.Done()
	s.mu.Unlock()

	closeErr := e.close((*indexer).close, notFound(id))
	s.pool.remove(e)
	retired, err := s.catalog.retire(id)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.brains[id] = newEntry(e.brain, e.tenant, &s.entries) // it still exists: usable again
		return "", fmt.Errorf("delete brain %s: %w", id, errors.Join(closeErr, err))
	}
	delete(s.brains, id)
	if closeErr != nil {
		return "", fmt.Errorf("brain %s is deleted, but its store did not close: %w", id, closeErr)
	}
	return retired, nil
}
