package brain

import (
	"context"
	"errors"
	"fmt"
)

// ErrLeased is returned by Handle.Lease for work that another process is doing.
var ErrLeased = errors.New("another process is doing that")

// Leases divides work on brains among processes that share them. All methods are safe for
// concurrent use. Brains are given by their Record.Key. A brain that does not exist is ErrNotFound.
type Leases interface {
	// Take takes a name of a brain, which nobody else has until release is called, or returns
	// ErrLeased. held is ctx, but it also ends with the lease, and when the lease is lost because
	// the database did not answer in time. Another process may then take the name a moment later,
	// so a process that did not notice in time must not have an effect: see package memory.
	Take(ctx context.Context, key, name string) (held context.Context, release func(), err error)
	// Announce makes it known that this process is about to begin work on a brain, so that another
	// process continues the work if this one vanishes. It returns once the announcement is durable.
	// done must be called when nothing is left to continue. Announcements of the same brain are
	// counted.
	Announce(ctx context.Context, key string) (done func(), err error)
	// Watch calls resume, until ctx ends, for each brain with announced work of a vanished process,
	// until resume succeeds in some process.
	Watch(ctx context.Context, resume func(ctx context.Context, tenant, id string) error)
	// Close ends all leases of the process, and leaves announced work to others at once.
	Close()
}

// Lease takes a name for work on the brain, see Leases. If no other process uses the brains, every
// name is free: the caller alone must then make sure that work is not done twice.
func (h Handle) Lease(ctx context.Context, name string) (held context.Context, release func(), err error) {
	if h.entry.cfg.leases == nil {
		return ctx, func() {}, nil
	}
	held, release, err = h.entry.cfg.leases.Take(ctx, h.entry.record().Key(), name)
	if err != nil {
		return nil, nil, fmt.Errorf("brain %s: %w", h.entry.id(), err)
	}
	return held, release, nil
}

// Announce is called before work that outlasts the call is recorded in the documents of the brain,
// see Leases. It does nothing if no other process uses the brains.
func (h Handle) Announce(ctx context.Context) (done func(), err error) {
	if h.entry.cfg.leases == nil {
		return func() {}, nil
	}
	done, err = h.entry.cfg.leases.Announce(ctx, h.entry.record().Key())
	if err != nil {
		return nil, fmt.Errorf("brain %s: %w", h.entry.id(), err)
	}
	return done, nil
}

// Leased reports whether other processes use the brain, so that they may do its work.
func (h Handle) Leased() bool { return h.entry.cfg.leases != nil }

// TakeOver calls resume for each brain with announced work of a vanished process, until ctx ends.
// It returns at once if no other process uses the brains.
func (s *Service) TakeOver(ctx context.Context, resume func(context.Context, Handle) error) {
	if s.entries.leases == nil {
		return
	}
	s.entries.leases.Watch(ctx, func(ctx context.Context, tenant, id string) error {
		if err := s.Refresh(ctx, tenant, id); err != nil {
			return err
		}
		h, err := s.FindOf(tenant, id)
		if errors.Is(err, ErrNotFound) {
			return nil // deleted in the meantime
		}
		if err != nil {
			return err
		}
		return resume(ctx, h)
	})
}
