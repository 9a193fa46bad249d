package store

import (
	"context"
	"fmt"
)

// remote is implemented by backends in front of a complete store in another process, which other
// clients can change too. The other store enforces the rules of Store, so operations are passed on
// without reading over the network first. Only batches are planned locally; their merged operations
// go to Commit.
type remote interface {
	// Apply applies the operations of c, of any kind, in their order: all or none. Kinds and paths
	// are valid, and Expect is empty.
	Apply(ctx context.Context, c Commit) error

	// ListEntries implements Store.List; dir and the glob are valid.
	ListEntries(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error)

	// Watch calls sink, in order, for every change of the remote store by any client, until ctx is
	// done. It returns once it receives changes. If the first attempt to connect fails, it returns
	// at once and keeps trying. A Store with a remote backend publishes no other events.
	Watch(ctx context.Context, sink func(ChangeEvent))
}

func (g *gate) applyRemote(ctx context.Context, c Commit) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	return g.remote.Apply(ctx, c)
}

func (g *gate) listRemote(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error) {
	return within(ctx, g, func() ([]FileInfo, error) { return g.remote.ListEntries(ctx, dir, opts) })
}

// applyRemote is Apply on a remote backend. The caller holds the write lock.
func (s *Store) applyRemote(ctx context.Context, c Commit) error {
	for i, op := range c.Ops {
		if err := op.checkRemote(); err != nil {
			return fmt.Errorf("op %d: %w", i, wrap(string(op.Kind), op.Path, err))
		}
	}
	if len(c.Ops) == 0 {
		return nil
	}
	return s.gate.applyRemote(ctx, c)
}

// checkRemote is check for a remote backend. It has no versions, so an expected version is always a
// conflict.
func (op Op) checkRemote() error {
	if err := op.check(); err != nil {
		return err
	}
	if op.Expect != "" {
		return ErrConflict
	}
	return nil
}
