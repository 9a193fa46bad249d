package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/daemon/protocol"
)

// Create adds a brain that tenant owns, as durably as the catalog keeps it. Tenant is empty when
// the daemon runs without keys. Ids and slugs are unique within a tenant, and no slug is the id of
// another brain of the tenant: a taken one is ErrExists. Other tenants make no difference, except
// without keys, where their brains are reached by their ids. An invalid field is an *ArgumentError.
func (s *Service) Create(ctx context.Context, tenant string, r protocol.CreateBrain) (protocol.Brain, error) {
	b, err := newBrain(r)
	if err != nil {
		return protocol.Brain{}, err
	}
	if tenant == "" {
		if err := s.checkReached(ctx, b); err != nil {
			return protocol.Brain{}, err
		}
	}
	b.CreatedAt = s.now().UTC().Truncate(time.Millisecond)
	if s.shared != nil {
		return s.createShared(ctx, tenant, b)
	}
	e, err := s.reserve(tenant, b)
	if err != nil {
		return protocol.Brain{}, err
	}
	defer s.changing.Done()
	added, err := s.catalog.Add(ctx, e.record())
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.forget(e)
		return protocol.Brain{}, fmt.Errorf("create brain %s: %w", e.id(), err)
	}
	e.latest.Store(&added)
	e.busy = false
	return added.Brain, nil
}

// checkReached returns ErrExists if a request without keys reaches a tenant's brain by the id or
// the slug of a new one.
func (s *Service) checkReached(ctx context.Context, b protocol.Brain) error {
	for _, name := range []string{b.ID, b.Slug} {
		if err := s.Refresh(ctx, "", name); err != nil {
			return err
		}
		if h, err := s.Find(name); errors.Is(err, ErrExists) || err == nil && h.Tenant() != "" {
			return nameTaken(name)
		}
	}
	return nil
}

// reserve takes the id of a new brain. The caller must call s.changing.Done.
func (s *Service) reserve(tenant string, b protocol.Brain) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if name, e := s.sameName(tenant, b); e != nil {
		// The other brain is not described: the caller may not be allowed to use it.
		if e.err() != nil {
			return nil, fmt.Errorf("%w: brain %s is still being deleted: try again", ErrExists, name)
		}
		return nil, nameTaken(name)
	}
	if e := s.brains[ownName{"", b.ID}]; e != nil && e.record().Damage != nil {
		return nil, fmt.Errorf("%w: %s is the id of a damaged brain, whose tenant is unknown", ErrExists, b.ID)
	}
	e := newEntry(Record{Brain: b, Tenant: tenant}, &s.entries)
	e.busy = true
	s.brains[idOf(e.record())] = e
	s.slugs[slugOf(e.record())] = b.ID
	s.changing.Add(1)
	return e, nil
}

// sameName returns a brain of the tenant that has the id or the slug of b as its id or slug, and
// that name. If an id and a slug could be equal, deleting a brain by that name twice would delete
// two brains. The caller holds mu.
func (s *Service) sameName(tenant string, b protocol.Brain) (name string, e *entry) {
	for _, name := range []string{b.ID, b.Slug} {
		if e := s.brains[ownName{tenant, name}]; e != nil {
			return name, e
		}
		if id, ok := s.slugs[ownName{tenant, name}]; ok {
			return name, s.brains[ownName{tenant, id}]
		}
	}
	return "", nil
}

func nameTaken(name string) error {
	return fmt.Errorf("%w: %s is the id or slug of another brain", ErrExists, name)
}

// forget removes a brain that is not in the catalog, unless another one has its id by now. The
// caller holds mu.
func (s *Service) forget(e *entry) {
	if s.brains[idOf(e.record())] != e {
		return
	}
	delete(s.brains, idOf(e.record()))
	s.forgetSlug(e)
}

// forgetSlug requires mu.
func (s *Service) forgetSlug(e *entry) {
	if slug := slugOf(e.record()); s.slugs[slug] == e.id() {
		delete(s.slugs, slug)
	}
}

// Delete removes the brain with all its documents. Concurrent operations on it
// may fail.
func (s *Service) Delete(ctx context.Context, h Handle) error {
	ctx = context.WithoutCancel(ctx) // from the first step on, the brain is unusable
	retired, err := s.retire(ctx, h.entry)
	if err != nil {
		return err
	}
	if err := s.catalog.Purge(ctx, retired); err != nil {
		return fmt.Errorf("brain %s is deleted, but some of its files remain until the next start: %w",
			h.entry.id(), err)
	}
	return nil
}

// retire ends the brain and removes it from the catalog. It does not hold s.mu meanwhile, so that
// other brains stay usable: closing a store may take long, above all while it is being opened.
func (s *Service) retire(ctx context.Context, e *entry) (string, error) {
	id := e.id()
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
	retired, err := s.uncatalog(ctx, e.record())

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared != nil && errors.Is(err, ErrNotFound) { // another process was faster
		s.forget(e)
		return "", err
	}
	if err != nil && retired == "" {
		if name := idOf(e.record()); s.brains[name] == e {
			s.brains[name] = newEntry(e.record(), &s.entries) // it still exists: usable again
		}
		return "", fmt.Errorf("delete brain %s: %w", id, errors.Join(closeErr, err))
	}
	s.forget(e)
	if closeErr != nil {
		// The caller purges what the store could not write, as on a full disk.
		s.entries.logger.Warn("the store of a deleted brain failed to close", "brain", id, "because", closeErr)
	}
	if err != nil {
		return "", fmt.Errorf("brain %s is deleted, but a crash of the machine may bring it back; "+
			"its files remain until the next start: %w", id, err)
	}
	return retired, nil
}

// uncatalog removes a brain from the catalog, and its snapshot before, because another brain may
// get the id: if retiring fails, the brain has no snapshot until the next one is written. A
// SharedCatalog gives no key twice, and purges the snapshot, which another process may be writing.
func (s *Service) uncatalog(ctx context.Context, r Record) (retired string, err error) {
	if s.entries.indexer.snapshots != nil && s.shared == nil {
		if err := s.entries.indexer.snapshots.Remove(ctx, r.Key()); err != nil {
			return "", err
		}
	}
	return s.catalog.Retire(ctx, r)
}
