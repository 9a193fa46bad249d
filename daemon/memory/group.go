package memory

import (
	"context"
	"errors"
	"sync"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
)

// perBrain keeps a value for each brain in use, until its handle ends. It is safe for concurrent
// use; its values must be too. The zero value is empty.
type perBrain[T any] struct {
	mu     sync.Mutex
	values map[brain.Handle]*T
}

// of returns the value of a brain, which is zero at first.
func (p *perBrain[T]) of(h brain.Handle) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	value := p.values[h]
	if value == nil {
		if p.values == nil {
			p.values = map[brain.Handle]*T{}
		}
		value = new(T)
		p.values[h] = value
		h.WhenEnded(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.values, h)
		})
	}
	return value
}

// group commits the writes of concurrent requests as one batch, because committing ten documents
// takes about as long as committing one. Without concurrency a request has its own batch.
type group struct {
	mu      sync.Mutex
	waiting []*groupWrite

	leader sync.Mutex // held by the request that commits
}

// groupWrite is the write of one request.
type groupWrite struct {
	ctx    context.Context
	reason string
	write  func(*store.Batch) error
	size   int // bytes, about
	done   bool
	err    error
}

// maxGroup bounds a batch of several requests, in bytes.
const maxGroup = 8 << 20

// commit makes the mutations of write durable, or none of them. It may call write twice, so write
// must have no effect beyond setting its result. Only requests with the same reason are committed
// together.
func (g *group) commit(
	ctx context.Context, st *store.Store, reason string, size int, write func(*store.Batch) error,
) error {
	own := &groupWrite{ctx: ctx, reason: reason, write: write, size: size}
	g.mu.Lock()
	g.waiting = append(g.waiting, own)
	g.mu.Unlock()
	g.leader.Lock()
	defer g.leader.Unlock()
	for !own.done {
		writes := g.next()
		err := runGroup(st, writes)
		// One of them failed, or the commit as a whole. The others must not fail with it, unless
		// the store is unavailable: then the commit may have been made.
		if err != nil && len(writes) > 1 && !errors.Is(err, store.ErrUnavailable) {
			for _, w := range writes {
				w.err = runGroup(st, []*groupWrite{w})
			}
		} else {
			for _, w := range writes {
				w.err = err
			}
		}
		for _, w := range writes {
			w.done = true
		}
	}
	return own.err
}

// next takes the requests to commit together, at least one: the first, and those directly after it
// with the same reason.
func (g *group) next() []*groupWrite {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, size := 0, 0
	for ; n < len(g.waiting); n++ {
		w := g.waiting[n]
		size += w.size
		if n > 0 && (size > maxGroup || w.reason != g.waiting[0].reason) {
			break
		}
	}
	writes := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	return writes
}

func runGroup(st *store.Store, writes []*groupWrite) error {
	ctx := writes[0].ctx
	if len(writes) > 1 {
		ctx = context.WithoutCancel(ctx) // the others still wait for it
	}
	return st.Batch(ctx, store.BatchOptions{Reason: writes[0].reason}, func(b *store.Batch) error {
		for _, w := range writes {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			if err := w.write(b); err != nil {
				return err
			}
		}
		return nil
	})
}
