package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/daemon/protocol"
)

// Fill makes the brains ready to be asked and returns the ids under which the
// daemon knows them, by name. A brain with documents is created, its documents
// are written over the documents protocol, and a search finds the one written
// last. A brain without must exist and hold some: ErrBrainMissing or
// ErrBrainEmpty, each of them named, when evaluating it would only measure that.
// A brain that should be created and exists is ErrBrainExists, unless j tells that
// the run filled it before it was stopped. j may be nil.
//
// When anything fails, ctx's end included, the brains that this call created are
// removed again; the error says which could not be.
func Fill(ctx context.Context, e *Endpoint, d Dialect, brains []Brain, j *Journal) (map[string]string, error) {
	f := filling{endpoint: e, dialect: d, journal: j, writers: max(1, seedWriters/min(brainsAtOnce, max(1, len(brains)))), ids: map[string]string{}, unusable: make([]error, len(brains))}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(brainsAtOnce)
	for i, b := range brains {
		g.Go(func() error {
			if gctx.Err() != nil {
				return context.Cause(gctx)
			}
			err := f.ready(gctx, b)
			if errors.Is(err, ErrBrainMissing) || errors.Is(err, ErrBrainEmpty) {
				f.unusable[i], err = err, nil // the others are named too
			}
			return err
		})
	}
	err := g.Wait()
	if unusable := slices.DeleteFunc(f.unusable, func(err error) bool { return err == nil }); err == nil && len(unusable) > 0 {
		err = joinSome(unusable, "brains")
	}
	if err != nil {
		return nil, f.undo(ctx, err)
	}
	return f.ids, nil
}

// filling is a Fill under way.
type filling struct {
	endpoint *Endpoint
	dialect  Dialect
	writers  int // for each brain
	unusable []error

	mu      sync.Mutex // guards the journal too
	journal *Journal
	ids     map[string]string
	created []string // ids
}

// ready fills or finds one brain.
func (f *filling) ready(ctx context.Context, b Brain) error {
	id, err := f.fillOrFind(ctx, b)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids[b.Name] = id
	if f.journal == nil || b.Docs == nil {
		return nil
	}
	return f.journal.MarkSeeded(b.Name)
}

func (f *filling) fillOrFind(ctx context.Context, b Brain) (string, error) {
	if b.Docs == nil {
		return findBrain(ctx, f.endpoint, b.Name, f.dialect, b.Probe)
	}
	// One whose creation is cut off could not be removed again.
	cctx, cancel := outlast(ctx, removeWithin)
	defer cancel()
	id, err := createBrain(cctx, f.endpoint, b.Name, f.dialect)
	if errors.Is(err, ErrBrainExists) && f.seeded(b.Name) {
		return findBrain(ctx, f.endpoint, b.Name, f.dialect, b.Probe)
	}
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	f.created = append(f.created, id)
	f.mu.Unlock()
	// A single document needs no batch unless it is too large for another request.
	single := len(b.Docs) == 1 && len(b.Docs[0].Data) <= protocol.MaxWriteBytes
	return id, f.fill(ctx, id, b.Docs, single)
}

// outlast gives a context that ends a while after ctx does.
func outlast(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(while, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() { stop(); cancel(nil) }
}

func (f *filling) seeded(brain string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.journal != nil && f.journal.Seeded(brain)
}

// fill writes the documents, each on its own if single is set, and waits until
// they can be searched.
func (f *filling) fill(ctx context.Context, id string, docs []Doc, single bool) error {
	last, query := probeOf(docs)
	w := docWriter{endpoint: f.endpoint, brain: id, writers: f.writers, single: single}
	if err := w.write(ctx, slices.Concat(docs[:last], docs[last+1:])); err != nil {
		return err
	}
	if err := w.write(ctx, docs[last:last+1]); err != nil {
		return err
	}
	// A search cannot tell documents of the same text apart.
	var paths []string
	for _, doc := range docs {
		if bytes.Equal(doc.Data, docs[last].Data) {
			paths = append(paths, doc.Path)
		}
	}
	return awaitSearchable(ctx, f.endpoint, id, f.dialect, catalogueOf(docs), docs[last].Path, paths, query)
}

// undo removes the brains that were created, and adds to err those that could
// not be. A daemon that does not let one go is not asked about the rest.
func (f *filling) undo(ctx context.Context, err error) error {
	for i, id := range f.created {
		if left := removeBrain(ctx, f.endpoint, id); left != nil {
			what := fmt.Sprintf("brain %q", id)
			if more := len(f.created) - i - 1; more > 0 {
				what += fmt.Sprintf(" (and %d more that this run created: %q)", more, f.created[i+1:])
			}
			return fmt.Errorf("%w; %s may hold part of the corpus and must be removed before the next try: it could not be removed now: %w", err, what, left)
		}
	}
	return err
}
