// Package seed makes brains of a daemon ready for questions: it creates them over the daemon's API,
// writes their documents and waits until they are searchable, or checks that they exist.
package seed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// concurrentWrites limits concurrent requests that write documents, and concurrentBrains limits
// brains that are seeded or looked for concurrently.
const (
	concurrentWrites = target.MinConns
	concurrentBrains = 4
)

// Brains makes the brains ready for questions and returns the daemon's ids by name. A brain with
// documents is created, its documents are written, and Brains waits until a search finds the last
// one. A brain without documents must exist and contain some; otherwise the error names every such
// brain.
//
// A brain to create must not exist, unless seeded reports that the run seeded it before it was
// interrupted. markSeeded is called with each brain once all its documents are searchable. Both may
// be nil; they are not called concurrently.
//
// If anything fails, or ctx ends, the brains created by this call are removed. The error says
// which brains could not be removed.
func Brains(
	ctx context.Context, e target.Service, d result.Dialect, brains []dataset.Brain,
	seeded func(brain string) bool, markSeeded func(brain string) error,
) (map[string]string, error) {
	if len(brains) > 1 {
		if err := target.Needs(e, target.Brains); err != nil {
			return nil, err
		}
	}
	s := seeder{
		service: e, dialect: d, seeded: seeded, markSeeded: markSeeded,
		writers: max(1, concurrentWrites/min(concurrentBrains, max(1, len(brains)))),
		ids:     map[string]string{},
	}
	unusable := make([]error, len(brains))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentBrains)
	for i, b := range brains {
		g.Go(func() error {
			if gctx.Err() != nil {
				return context.Cause(gctx)
			}
			err := s.ready(gctx, b)
			if errors.Is(err, ErrMissing) || errors.Is(err, ErrEmpty) {
				unusable[i], err = err, nil // continue, to name the others too
			}
			return err
		})
	}
	err := g.Wait()
	unusable = slices.DeleteFunc(unusable, func(err error) bool { return err == nil })
	if err == nil && len(unusable) > 0 {
		err = dataset.JoinErrors(unusable, "brains")
	}
	if err != nil {
		return nil, s.undo(ctx, err)
	}
	return s.ids, nil
}

// seeder is the state of one call of Brains.
type seeder struct {
	service target.Service
	dialect result.Dialect
	writers int // for each brain

	mu         sync.Mutex // guards the fields below and the calls of the functions
	seeded     func(brain string) bool
	markSeeded func(brain string) error
	ids        map[string]string
	created    []*Brain
}

// ready seeds or finds one brain.
func (s *seeder) ready(ctx context.Context, b dataset.Brain) error {
	remote := NewBrain(s.service, s.dialect, b.Name)
	if err := s.seedOrFind(ctx, remote, b); err != nil {
		return advised(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[b.Name] = remote.id
	if s.markSeeded == nil || b.Docs == nil {
		return nil
	}
	return s.markSeeded(b.Name)
}

// advised adds advice to the error of an unusable brain.
func advised(err error) error {
	for reason, advice := range map[error]string{
		ErrExists: "delete it, choose another name, or leave the corpus out (--corpus none) " +
			"to evaluate it as it is",
		ErrMissing: "give its documents with --corpus, or another --brain",
		ErrEmpty:   "give its documents with --corpus",
	} {
		if errors.Is(err, reason) {
			return fmt.Errorf("%w; %s", err, advice)
		}
	}
	return err
}

func (s *seeder) seedOrFind(ctx context.Context, remote *Brain, b dataset.Brain) error {
	if b.Docs == nil {
		return remote.Find(ctx)
	}
	err := remote.Create(ctx)
	if errors.Is(err, ErrExists) && s.wasSeeded(b.Name) {
		return remote.Find(ctx)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.created = append(s.created, remote)
	s.mu.Unlock()
	return remote.Seed(ctx, b.Docs, s.writers)
}

func (s *seeder) wasSeeded(brain string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seeded != nil && s.seeded(brain)
}

// Seed writes one or more documents with concurrent requests, and waits until they are searchable.
func (b *Brain) Seed(ctx context.Context, docs []dataset.Doc, writers int) error {
	last, query := probeOf(docs)
	if err := b.Write(ctx, slices.Concat(docs[:last], docs[last+1:], docs[last:last+1]), writers); err != nil {
		return err
	}
	return b.awaitSearchable(ctx, docs, last, query)
}

// undo removes the created brains and adds to err what could not be removed.
func (s *seeder) undo(ctx context.Context, err error) error {
	left := RemoveEach(ctx, s.created, func(ctx context.Context, b *Brain) error {
		err := b.Remove(ctx)
		if err != nil {
			err = fmt.Errorf("brain %q may hold part of the corpus and must be removed before the next try: "+
				"it could not be removed now: %w", b.id, err)
		}
		return err
	})
	return errors.Join(err, left)
}
