package brain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/wakeup"
)

// With a SharedCatalog, a Service has entries only for the brains that were used in this process.
// An entry can be outdated: another process may have deleted its brain, and another brain may have
// the id. The database decides: a store operation on a deleted brain is store.ErrGone. The caller
// that gets that error calls Handle.Gone and then Service.Refresh, after which the name refers to
// the brain in the database.

// missingInterval is how often the service asks for deleted brains if nothing wakes it.
const missingInterval = 5 * time.Second

// Shared reports whether other processes use the same brains.
func (s *Service) Shared() bool { return s.shared != nil }

// Refresh makes Find, FindOf and FindSlug see every brain that any process has created or deleted
// before the call, if it belongs to the tenant, or to none, and has this id or slug. If tenant is
// empty, it does so for brains of any tenant with this id. It does nothing if no other process uses
// the brains.
func (s *Service) Refresh(ctx context.Context, tenant, name string) error {
	if s.shared == nil || !ValidID(name) { // no brain can have another id or slug
		return nil
	}
	before, lookup := s.named(tenant, name)
	records, err := s.shared.Lookup(ctx, tenant, name)
	if err != nil {
		return fmt.Errorf("look up brain %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	found := map[int64]bool{}
	for _, r := range records {
		found[r.UID] = true
		s.adopt(r, lookup)
	}
	// Not those that appeared during the lookup, which may have read an older state.
	for _, e := range before {
		if !found[e.record().UID] {
			s.drop(e, notFound(e.id()))
		}
	}
	return nil
}

// named returns the known brains that a name refers to, and the number of a lookup that begins now.
func (s *Service) named(tenant, name string) (list []*entry, lookup uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups++
	for _, t := range slices.Compact([]string{tenant, ""}) {
		if e := s.brains[ownName{t, name}]; e != nil {
			list = append(list, e)
		}
		if e := s.brains[ownName{t, s.slugs[ownName{t, name}]}]; e != nil {
			list = append(list, e)
		}
	}
	for other, e := range s.brains {
		if tenant == "" && other.name == name && other.tenant != "" {
			list = append(list, e)
		}
	}
	return list, s.lookups
}

// adopt adds the brain of a record that a lookup has found, or updates its entry, and drops the
// brain that had its id before. Lookups are numbered from 1 as they begin. The result of a lookup
// is not replaced by the result of an earlier one, which may have read it before a change. 0 is for
// the record of a new brain. The caller holds mu.
func (s *Service) adopt(r Record, lookup uint64) {
	old := s.brains[idOf(r)]
	if old != nil && old.record().UID >= r.UID { // if it is greater, the record is outdated
		if old.record().UID == r.UID && lookup > old.lookup {
			s.forgetSlug(old)
			old.latest.Store(&r)
			old.lookup = lookup
		}
		s.slugs[slugOf(old.record())] = old.id() // another brain may have had the slug
		return
	}
	if old != nil {
		s.drop(old, notFound(old.id()))
	}
	e := newEntry(r, &s.entries)
	e.lookup = lookup
	e.touch()
	s.brains[idOf(r)] = e
	s.slugs[slugOf(r)] = r.Brain.ID
}

// dropNow is drop for callers that do not hold mu.
func (s *Service) dropNow(e *entry, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(e, cause)
}

// drop ends an entry: operations on it fail with cause. It requires mu.
func (s *Service) drop(e *entry, cause error) {
	if s.closed || s.brains[idOf(e.record())] != e || e.busy {
		return // it is being closed, or was
	}
	s.forget(e)
	e.cancel(cause)
	s.changing.Go(func() {
		if err := e.close((*indexer).close, cause); err != nil {
			s.entries.logger.Warn("the store of a brain failed to close", "brain", e.id(), "because", err)
		}
		s.pool.remove(e)
	})
}

// createShared adds a brain to a shared catalog, which decides whether its names are free.
func (s *Service) createShared(ctx context.Context, tenant string, b protocol.Brain) (protocol.Brain, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return protocol.Brain{}, ErrClosed
	}
	s.changing.Add(1)
	s.mu.Unlock()
	defer s.changing.Done()
	const attempts = 3 // the brain that has the name may be deleted, or another be created meanwhile
	var err error
	for range attempts {
		var r Record
		if r, err = s.shared.Add(ctx, Record{Brain: b, Tenant: tenant}); err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.adopt(r, 0)
			return b, nil
		}
		if !errors.Is(err, ErrExists) {
			break
		}
		taken, lookupErr := s.takenName(ctx, tenant, b)
		if lookupErr != nil {
			return protocol.Brain{}, fmt.Errorf("create brain %s: %w", b.ID, lookupErr)
		}
		if taken != "" {
			return protocol.Brain{}, nameTaken(taken)
		}
	}
	return protocol.Brain{}, fmt.Errorf("create brain %s: %w", b.ID, err)
}

// takenName returns the name of b that another brain of the tenant has as its id or slug, or "".
func (s *Service) takenName(ctx context.Context, tenant string, b protocol.Brain) (string, error) {
	for _, name := range []string{b.ID, b.Slug} {
		records, err := s.shared.Lookup(ctx, tenant, name)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(records, func(r Record) bool { return r.Tenant == tenant }) {
			return name, nil
		}
	}
	return "", nil
}

// watch drops the brains that other processes have deleted, until ctx ends. It needs no requests,
// because streams and jobs of such brains must end.
func (s *Service) watch(ctx context.Context) {
	wake := wakeup.New()
	s.watching.Go(func() { s.shared.Watch(ctx, wake.Set) })
	ticker := time.NewTicker(missingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-ticker.C:
		}
		if err := s.dropMissing(ctx); err != nil && ctx.Err() == nil {
			s.entries.logger.Warn("cannot find out which brains were deleted; trying again", "because", err)
		}
	}
}

func (s *Service) dropMissing(ctx context.Context) error {
	known := map[int64]*entry{}
	s.mu.Lock()
	for _, e := range s.brains {
		known[e.record().UID] = e
	}
	s.mu.Unlock()
	if len(known) == 0 {
		return nil
	}
	uids := make([]int64, 0, len(known))
	for uid := range known {
		uids = append(uids, uid)
	}
	missing, err := s.shared.Missing(ctx, uids)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uid := range missing {
		s.drop(known[uid], notFound(known[uid].id()))
	}
	return nil
}

// Gone drops the brain from the service. It is called after an operation on its store was
// store.ErrGone, because another process has deleted the brain. Later operations are ErrNotFound.
func (h Handle) Gone() { h.entry.cfg.drop(h.entry, notFound(h.entry.id())) }

// noteGone calls Gone if err says that the brain was deleted by another process.
func (h Handle) noteGone(err error) {
	if errors.Is(err, store.ErrGone) {
		h.Gone()
	}
}
