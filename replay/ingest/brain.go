package ingest

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/internal/llm"
	"evalctl/replay/source"
)

// maxFills limits how often a brain is filled if it is unknown what the daemon has stored.
const maxFills = 3

// errAmbiguous means that the daemon may or may not have stored messages.
var errAmbiguous = errors.New("it is not known whether the daemon has stored the messages")

// ready fills or finds one brain.
func (f *filler) ready(ctx context.Context, b brain) error {
	remote := seed.NewBrain(f.Service, f.Dialect, b.name)
	found, err := f.find(ctx, remote, b)
	if err != nil {
		return err
	}
	if found {
		err = f.each(ctx, b, func(_ context.Context, h source.Haystack) error {
			f.progress(units(h))
			return nil
		})
	} else {
		err = f.fill(ctx, remote, b)
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range b.haystacks {
		f.result.Brains[f.brains[id]] = remote.ID()
	}
	return nil
}

// find reports whether the brain is filled: by this replay before it was interrupted, or by an
// earlier one. A brain that the service has lost since, because it keeps brains in memory, is not
// filled, nor is one whose notes are missing.
func (f *filler) find(ctx context.Context, remote *seed.Brain, b brain) (bool, error) {
	if f.Mode == None || f.Find {
		return true, remote.Find(ctx)
	}
	own := f.wasSeeded(b.name)
	if !own && !f.record.has(b) {
		return false, nil
	}
	err := remote.Find(ctx)
	if errors.Is(err, seed.ErrMissing) || errors.Is(err, seed.ErrEmpty) {
		return false, nil
	}
	known := false
	if err == nil {
		known, err = f.recall(ctx, remote, b)
	}
	if err != nil || !known {
		return false, err
	}
	remote.Lost(f.record.loss(b))
	if !own {
		f.reuse(b)
	}
	return true, nil
}

// reuse counts a brain filled by an earlier replay.
func (f *filler) reuse(b brain) {
	usd := f.record.cost(b)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result.Report.Reused++
	switch {
	case f.Cost == nil:
	case usd == nil:
		f.result.Unrecorded++
	default:
		f.result.ReusedUSD = f.result.ReusedUSD.Plus(*usd)
	}
}

// cost returns the cost of the daemon's models so far, nil if unknown.
func (f *filler) cost() *llm.USD {
	if f.Cost == nil {
		return nil
	}
	return f.Cost()
}

// price records the cost of filling the brains.
func (f *filler) price(before, after *llm.USD) error {
	if before == nil || after == nil || len(f.newBrains) == 0 {
		return nil
	}
	return f.record.price(f.newBrains, *after-*before)
}

// fill creates the brain, writes its haystacks, and records it as filled.
func (f *filler) fill(ctx context.Context, remote *seed.Brain, b brain) error {
	err := f.refill(ctx, remote, b)
	for n := 1; n < maxFills && errors.Is(err, errAmbiguous) && ctx.Err() == nil; n++ {
		err = f.refill(ctx, remote, b)
	}
	if err == nil {
		err = f.note(remote, b)
	}
	if err == nil {
		err = f.record.add(b, remote.Loss())
	}
	if err != nil {
		return fmt.Errorf("fill brain %q: %w", b.name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newBrains = append(f.newBrains, b)
	if f.record != nil {
		delete(f.created, remote)
	}
	if f.MarkSeeded == nil {
		return nil
	}
	if err := f.MarkSeeded(b.name); err != nil {
		return err
	}
	delete(f.created, remote)
	return nil
}

// refill creates the brain and writes its haystacks. An existing brain with the same name, which
// contains the signature, was left by an interrupted replay and is deleted, see also
// filler.claim.
func (f *filler) refill(ctx context.Context, remote *seed.Brain, b brain) error {
	err := f.claim(ctx, remote, b)
	if err == nil {
		err = remote.Create(ctx)
	}
	if errors.Is(err, seed.ErrExists) {
		if err = remote.Remove(ctx); err == nil {
			err = remote.Create(ctx)
		}
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.created[remote] = b
	f.mu.Unlock()
	if err := f.noteBegun(remote, b); err != nil {
		return err
	}
	return f.each(ctx, b, func(ctx context.Context, h source.Haystack) error {
		if f.Mode == Replay {
			return f.replay(ctx, remote, b, h)
		}
		return f.bulk(ctx, remote, b, h)
	})
}

// each reads the haystacks of a brain, keeps their names, and calls do with each. The haystacks of
// a shared brain are read concurrently.
func (f *filler) each(
	ctx context.Context, b brain, do func(context.Context, source.Haystack) error,
) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, min(f.Concurrency, len(b.haystacks))))
	for _, id := range b.haystacks {
		g.Go(func() error {
			if gctx.Err() != nil {
				return context.Cause(gctx)
			}
			h, err := f.bench.Haystack(id)
			if err == nil {
				err = f.keep(h)
			}
			if err != nil {
				return err
			}
			return do(gctx, h)
		})
	}
	return g.Wait()
}

// bulk writes the documents of a haystack and waits until they are searchable.
func (f *filler) bulk(
	ctx context.Context, remote *seed.Brain, b brain, h source.Haystack,
) error {
	docs := h.Documents()
	if len(docs) == 0 {
		return nil
	}
	var err error
	if f.Shared == "" {
		err = remote.Seed(ctx, docs, f.writers)
	} else if err = remote.Write(ctx, docs, f.writers); err == nil {
		err = f.await(ctx, remote, b, h, "does the daemon index "+result.SeedRoot+"?")
	}
	if err == nil {
		f.progress(len(docs))
	}
	return err
}

// await waits until a search finds a haystack.
func (f *filler) await(
	ctx context.Context, remote *seed.Brain, b brain, h source.Haystack, hint string,
) error {
	documents := func(c result.Chunk) []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.result.names(h.Brain, c)
	}
	return remote.Await(ctx, h.Documents(), b.sessions, documents, hint)
}

func (f *filler) wasSeeded(brain string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Seeded != nil && f.Seeded(brain)
}

// units returns the number of sessions or documents of a haystack.
func units(h source.Haystack) int { return max(len(h.Sessions), len(h.Docs)) }
