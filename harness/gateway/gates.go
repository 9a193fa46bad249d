package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// Models are the models that a daemon calls through its gateways.
type Models struct {
	// Upstream is the provider of completions, nil if none are expected. Completion is the default
	// model; if it is "", requests without a model are refused.
	Upstream   *llm.Config
	Completion string
	// Embedding is the embedding model and its provider, nil for none.
	Embedding *llm.Config
}

// Gates are the gateways of a daemon. The zero value has none, for a daemon that was already
// running. It is safe for concurrent use once Open has returned.
type Gates struct {
	list        []*Gateway
	environment []string
	phase       atomic.Value // the ledger.Phase for which the daemon's completions are

	// The fields below keep filling brains and asking questions apart, so that each model call of
	// the daemon is counted for the right phase. Without completions this is not needed, because
	// embeddings have a phase of their own.
	completions bool
	mu          sync.Mutex
	changed     *sync.Cond
	active      int
	waiting     map[ledger.Phase]int
	spent       llm.USD // of the cap, when it was last read
}

// Open starts the gateways of a daemon that calls m: one, or two if embeddings have a different
// provider or key. shared is their common configuration, without Upstream, Model, Embedding and
// Phase. The caller must close g, even after an error.
func (g *Gates) Open(shared Config, m Models) error {
	g.changed, g.waiting = sync.NewCond(&g.mu), map[ledger.Phase]int{}
	g.phase.Store(ledger.Ingest)
	shared.Phase = func() ledger.Phase { return g.phase.Load().(ledger.Phase) }
	together := m.Upstream != nil && m.Embedding != nil && sameEndpoint(*m.Upstream, *m.Embedding)
	if m.Upstream != nil {
		c := shared
		c.Upstream, c.Model = *m.Upstream, m.Completion
		if together {
			c.Embedding = m.Embedding.Model
		}
		if err := g.start(c, "OPENAI"); err != nil {
			return err
		}
		g.completions = true
	}
	if together {
		g.pass(g.list[0], "SVC_EMBED")
	} else if m.Embedding != nil {
		shared.Upstream, shared.Embedding = *m.Embedding, m.Embedding.Model
		if err := g.start(shared, "SVC_EMBED"); err != nil {
			return err
		}
	}
	if m.Embedding != nil { // the vectors of one daemon serve the next, whose gateway is elsewhere
		g.environment = append(g.environment, "SVC_EMBED_SOURCE="+g.list[len(g.list)-1].upstream)
	}
	return nil
}

// start starts a gateway. Variables with this prefix point the daemon to it.
func (g *Gates) start(c Config, prefix string) error {
	started, err := Start(c)
	if err == nil {
		g.list = append(g.list, started)
		g.pass(started, prefix)
	}
	return err
}

// pass adds variables with this prefix that point the daemon to a gateway.
func (g *Gates) pass(to *Gateway, prefix string) {
	g.environment = append(g.environment, prefix+"_BASE_URL="+to.URL(), prefix+"_API_KEY="+to.Key())
}

// sameEndpoint reports whether both use the same URL and key.
func sameEndpoint(a, b llm.Config) bool {
	urlA, keyA, errA := a.Endpoint()
	urlB, keyB, errB := b.Endpoint()
	return errA == nil && errB == nil && urlA == urlB && keyA == keyB
}

// Environment returns the variables, as NAME=VALUE, that point the daemon to the gateways.
func (g *Gates) Environment() []string { return g.environment }

// Enter starts a phase of the daemon's completions until leave is called, after waiting until no
// other phase is in progress, and until the cap has room for one more caller's completion: in
// the gateway it would wait on the daemon's time. Callers waiting for the other phase go first,
// so that neither waits for ever.
func (g *Gates) Enter(phase ledger.Phase) (leave func()) {
	if !g.completions {
		g.phase.Store(phase)
		return func() {}
	}
	g.readSpent()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting[phase]++
	for g.active > 0 && (g.phase.Load() != phase || g.others(phase) || !g.affords(phase, g.active+1)) {
		g.changed.Wait()
	}
	g.waiting[phase]--
	g.active++
	g.phase.Store(phase)
	return func() {
		g.readSpent()
		g.mu.Lock()
		defer g.mu.Unlock()
		g.active--
		g.changed.Broadcast()
	}
}

// others reports whether a caller waits for another phase. g.mu must be held.
func (g *Gates) others(phase ledger.Phase) bool {
	for other, n := range g.waiting {
		if other != phase && n > 0 {
			return true
		}
	}
	return false
}

// affords reports whether the cap has room for so many callers, each with a completion as dear
// as the dearest of the phase so far.
func (g *Gates) affords(phase ledger.Phase, callers int) bool {
	gate := g.list[0] // of completions
	limit, dearest := gate.config.Ledger.Cap(), gate.dearestOf(phase)
	return limit == nil || dearest == 0 || dearest*llm.USD(callers) <= *limit-g.spent
}

// readSpent reads for affords what is spent, without the lock: on a queue it is in a database.
func (g *Gates) readSpent() {
	if !g.list[0].paid() {
		return
	}
	books := g.list[0].config.Ledger
	if books.Cap() == nil || books.Err() != nil {
		return
	}
	spent := books.Spent()
	g.mu.Lock()
	g.spent = spent
	g.mu.Unlock()
}

// Err returns the first gateway's Gateway.Err that is not nil. The run cannot continue after an
// error.
func (g *Gates) Err() error {
	for _, gate := range g.list {
		if err := gate.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Watch returns a context that ends with the reason when a gateway rejects a call, because a daemon
// may retry for ever.
func (g *Gates) Watch(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	for _, gate := range g.list {
		go func() {
			select {
			case <-gate.Failed():
				cancel(gate.Err())
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// Requests returns the daemon's model requests, ok false without gateways.
func (g *Gates) Requests() (sum result.ModelRequests, ok bool) {
	for _, gate := range g.list {
		sum = sum.Plus(gate.Requests())
	}
	return sum, len(g.list) > 0
}

// Close closes the gateways, see Gateway.Close.
func (g *Gates) Close() error {
	var errs []error
	for _, gate := range g.list {
		errs = append(errs, gate.Close())
	}
	return errors.Join(errs...)
}
