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

// Models are those that a daemon calls through its gateways.
type Models struct {
	// Upstream is the provider to which calls are sent, nil if none are expected. Completion is the
	// model of completions that name none, "" if such requests are refused.
	Upstream   *llm.Config
	Completion string
	// Embedding is the model that embeds and its provider, nil for none.
	Embedding *llm.Config
}

// Gates are the gateways of a daemon. The zero value has none: it is that of a daemon that was
// running already. It is safe for concurrent use once Open has returned.
type Gates struct {
	list        []*Gateway
	environment []string
	phase       atomic.Value // the ledger.Phase for which the daemon's completions are

	// What follows keeps the filling of brains and the asking of questions apart, so that each call of
	// the daemon to its models is counted for the right phase. It is not needed without completions,
	// because embeddings are a phase of their own.
	completions bool
	mu          sync.Mutex
	changed     *sync.Cond
	active      int
	waiting     map[ledger.Phase]int
}

// Open starts the gateways of a daemon that calls m: one, unless embeddings have a provider or a
// key of their own. shared has what they have in common, without Upstream, Model, Embedding and
// Phase. The caller must close g, also after an error.
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

// start starts a gateway, which the variables with a prefix have the daemon use.
func (g *Gates) start(c Config, prefix string) error {
	started, err := Start(c)
	if err == nil {
		g.list = append(g.list, started)
		g.pass(started, prefix)
	}
	return err
}

// pass adds the variables with a prefix that have the daemon use a gateway.
func (g *Gates) pass(to *Gateway, prefix string) {
	g.environment = append(g.environment, prefix+"_BASE_URL="+to.URL(), prefix+"_API_KEY="+to.Key())
}

// sameEndpoint reports whether requests go to the same URL with the same key.
func sameEndpoint(a, b llm.Config) bool {
	urlA, keyA, errA := a.Endpoint()
	urlB, keyB, errB := b.Endpoint()
	return errA == nil && errB == nil && urlA == urlB && keyA == keyB
}

// Environment returns the variables that have the daemon use the gateways, NAME=VALUE.
func (g *Gates) Environment() []string { return g.environment }

// Enter says what the daemon's completions are for until the caller leaves, and waits before until
// nothing of another phase is in progress. Who waits for the other phase is let in first, so that
// neither waits for ever.
func (g *Gates) Enter(phase ledger.Phase) (leave func()) {
	if !g.completions {
		g.phase.Store(phase)
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting[phase]++
	for g.active > 0 && (g.phase.Load() != phase || g.others(phase)) {
		g.changed.Wait()
	}
	g.waiting[phase]--
	g.active++
	g.phase.Store(phase)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.active--
		g.changed.Broadcast()
	}
}

// others reports whether somebody waits for another phase. g.mu must be held.
func (g *Gates) others(phase ledger.Phase) bool {
	for other, n := range g.waiting {
		if other != phase && n > 0 {
			return true
		}
	}
	return false
}

// Err returns the Gateway.Err of the first gateway that has one. The run cannot go on then.
func (g *Gates) Err() error {
	for _, gate := range g.list {
		if err := gate.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Watch returns a context that ends when a gateway has rejected a call, with the reason as its
// cause: a daemon may try again for ever.
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

// Requests returns what the daemon asked of its models, ok false without gateways.
func (g *Gates) Requests() (sum result.ModelRequests, ok bool) {
	for _, gate := range g.list {
		sum = sum.Plus(gate.Requests())
	}
	return sum, len(g.list) > 0
}

// Close stops the gateways, as Gateway.Close does.
func (g *Gates) Close() error {
	var errs []error
	for _, gate := range g.list {
		errs = append(errs, gate.Close())
	}
	return errors.Join(errs...)
}
