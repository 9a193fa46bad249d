package store

import (
	"context"
	"fmt"
)

// remote is the ability of a backend to be a whole store itself, elsewhere,
// which others change too. It keeps the rules of Store on its own, so that an
// operation need not be planned here with reads over a network. Only batches
// still are; their merged operations go to Commit.
type remote interface {
	// Apply makes the operations of c as given, of any kind, all or none. Kinds
	// and paths are valid and nothing is expected.
	Apply(ctx context.Context, c Commit) error

	// ListEntries answers Store.List for a dir and glob that are valid.
	ListEntries(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error)

	// Watch calls sink, in order, for every change there from whoever, until
	// ctx is done. It returns once changes are heard; when they cannot be, it
	// returns after the first attempt and goes on trying. The store publishes
	// nothing of its own.
	Watch(ctx context.Context, sink func(ChangeEvent))
}

func (g *gate) apply(ctx context.Context, c Commit) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	return g.far.Apply(ctx, c)
}

func (g *gate) entries(ctx context.Context, dir string, opts ListOptions) ([]FileInfo, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	return g.far.ListEntries(ctx, dir, opts)
}

// applyFar is Apply on a remote backend. The caller has the turn.
func (s *Store) applyFar(ctx context.Context, c Commit) error {
	for i, op := range c.Ops {
		if err := op.checkFar(); err != nil {
			return fmt.Errorf("op %d: %w", i, wrap(string(op.Kind), op.Path, err))
		}
	}
	if len(c.Ops) == 0 {
		return nil
	}
	return s.gate.apply(ctx, c)
}

// checkFar is check for a remote backend, which has no versions: what op
// expects cannot be.
func (op Op) checkFar() error {
	if err := op.check(); err != nil {
		return err
	}
	if op.Expect != "" {
		return ErrConflict
	}
	return nil
}
