package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/gateway"
	"evalctl/replay/ingest"
	"evalctl/replay/ledger"
)

// daemonPays reports whether daemons call models when brains are filled or questions are asked.
func (p *Plan) daemonPays() bool {
	return p.Ingest == ingest.Replay || p.Style == actor.Full
}

// uncounted returns what an arm's daemon may pay for that is not counted, "" for nothing.
func (p *Plan) uncounted(a Arm) string {
	switch {
	case a.daemon() && !a.started() && p.daemonPays():
		return fmt.Sprintf("the daemon at %s calls models by itself", a.Session.Endpoint)
	case a.Uncounted:
		return fmt.Sprintf("the daemon of %s calls the reranker at SVC_RERANK_BASE_URL by itself", a.Name)
	case len(a.Passed) > 0:
		return fmt.Sprintf("the daemon of %s has %s", a.Name, strings.Join(a.Passed, ", "))
	}
	return ""
}

// checkDaemonMoney returns an error if an arm's daemon could pay for what the cap does not limit.
func (p *Plan) checkDaemonMoney(a Arm) error {
	accepted := p.Unmetered || len(a.Passed) > 0 && !a.Uncounted
	if what := p.uncounted(a); what != "" && !accepted {
		remedy := "let this command start it"
		if a.started() {
			remedy = "leave it out with SVC_RERANK_PROVIDER="
		}
		return fmt.Errorf("the cap cannot be enforced: %s, which cannot be counted; %s, or accept that with --unmetered-daemon",
			what, remedy)
	}
	for _, m := range a.models() {
		if err := p.Prices.Check(m.Provider, m.Model); err != nil {
			return fmt.Errorf("models of the daemon of %s: %w", a.Name, err)
		}
	}
	return nil
}

// models returns the models that a started daemon calls through a gateway, or for free.
func (a Arm) models() (out []llm.Config) {
	if !a.started() {
		return nil
	}
	if a.Reader != nil {
		out = append(out, llm.Config{Provider: a.Reader.Provider, Model: a.Reader.Model})
	}
	if a.Reranker != "" {
		out = append(out, llm.Config{Provider: llm.ProviderOpenAI, Model: a.Reranker})
	}
	if a.Embedding != nil {
		out = append(out, *a.Embedding)
	}
	return out
}

// paid reports whether an arm's daemon calls models through a gateway that are not known to be
// free.
func (p *Plan) paid(a Arm) bool {
	return slices.ContainsFunc(a.models(), func(m llm.Config) bool {
		price, ok := p.Prices.Of(m.Provider, m.Model)
		return !ok || price != llm.Price{}
	})
}

// listCost returns what an arm has cost so far, had it been alone with an empty cache, nil if the
// price of a model is not known.
func listCost(l ledger.Books, a Arm) *llm.USD {
	c := l.Accounting(a.Name)
	if len(c.Unpriced) > 0 {
		return nil
	}
	saved, _ := l.Saved(a.Name)
	return new(c.TotalUSD.Plus(saved))
}

// moneyGate is between a started daemon and the providers of its models. One without gateways is
// that of a daemon that is not started, and of a baseline.
type moneyGate struct {
	main  *gateway.Gateway // nil without Arm.Upstream
	embed *gateway.Gateway // nil without Arm.Embedding; it may be main
	gates []*gateway.Gateway
	fresh bool
	spent atomic.Value // the ledger.Phase for which the daemon's calls are

	// What follows keeps the filling of brains and the asking of questions apart, so that each call of
	// the daemon to its models is counted for the right phase.
	mu      sync.Mutex
	changed *sync.Cond
	active  int
	waiting map[ledger.Phase]int
}

func newMoneyGate() *moneyGate {
	m := &moneyGate{waiting: map[ledger.Phase]int{}}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// openGate starts the gateways of an arm. fresh is set if its daemon could not use the replies that
// it got when it filled brains. The caller closes m, also after an error.
func (r *replaying) openGate(m *moneyGate, a Arm, fresh bool) (err error) {
	m.fresh = fresh
	m.spent.Store(ledger.Ingest)
	if a.Upstream != nil {
		if m.main, err = r.startGateway(m, a, *a.Upstream, a.completionModel()); err != nil {
			return err
		}
	}
	switch {
	case a.Embedding == nil:
	case a.Upstream != nil && sameEndpoint(*a.Upstream, *a.Embedding):
		m.embed = m.main
	default:
		if m.embed, err = r.startGateway(m, a, *a.Embedding, ""); err != nil {
			return err
		}
	}
	return nil
}

// completionModel is the model of the daemon's completions that name none, "" if the model that it
// is configured with is not behind the gateway.
func (a Arm) completionModel() string {
	if a.Reader != nil && a.Reader.Provider == llm.ProviderOpenAI {
		return a.Reader.Model
	}
	return a.Reranker
}

// startGateway starts a gateway. Embeddings without a model get the arm's if they are sent to where
// that is.
func (r *replaying) startGateway(m *moneyGate, a Arm, upstream llm.Config, model string) (*gateway.Gateway, error) {
	embedding := ""
	if a.Embedding != nil && sameEndpoint(upstream, *a.Embedding) {
		embedding = a.Embedding.Model
	}
	g, err := gateway.Start(gateway.Config{
		Upstream: upstream, Ledger: r.ledger, Prices: r.plan.Prices, Cache: r.cache, Arm: a.Name, Fresh: m.fresh,
		Model: model, Embedding: embedding,
		Phase: func() ledger.Phase { return m.spent.Load().(ledger.Phase) },
		Log:   slog.New(slog.DiscardHandler), // what it rejects is the error of the arm
	})
	if err == nil {
		m.gates = append(m.gates, g)
	}
	return g, err
}

// sameEndpoint reports whether requests go to the same URL with the same key.
func sameEndpoint(a, b llm.Config) bool {
	urlA, keyA, errA := a.Endpoint()
	urlB, keyB, errB := b.Endpoint()
	return errA == nil && errB == nil && urlA == urlB && keyA == keyB
}

// enter says what the daemon's calls are for until the caller leaves, and waits before until
// nothing of another phase is in progress. Who waits for the other phase is let in first, so that
// neither waits for ever.
func (m *moneyGate) enter(phase ledger.Phase) (leave func()) {
	if m.main == nil { // there are no calls but for embeddings, which are a phase of their own
		m.spent.Store(phase)
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[phase]++
	for m.active > 0 && (m.spent.Load() != phase || m.others(phase)) {
		m.changed.Wait()
	}
	m.waiting[phase]--
	m.active++
	m.spent.Store(phase)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.active--
		m.changed.Broadcast()
	}
}

// others reports whether somebody waits for another phase. m.mu must be held.
func (m *moneyGate) others(phase ledger.Phase) bool {
	for other, n := range m.waiting {
		if other != phase && n > 0 {
			return true
		}
	}
	return false
}

// environment returns the variables that make a daemon use the gateways.
func (m *moneyGate) environment() (env []string) {
	if m.main != nil {
		env = append(env, "OPENAI_BASE_URL="+m.main.URL(), "OPENAI_API_KEY="+m.main.Key())
	}
	if m.embed != nil {
		env = append(env, "SVC_EMBED_BASE_URL="+m.embed.URL(), "SVC_EMBED_API_KEY="+m.embed.Key())
	}
	return env
}

// stopped returns why a gateway has rejected a call, or nil. The run cannot go on then.
func (m *moneyGate) stopped() error {
	for _, g := range m.gates {
		if err := g.Err(); err != nil {
			return err
		}
	}
	return nil
}

// watch returns a context that ends when a gateway has rejected a call, with the reason as its
// cause: a daemon may try again for ever.
func (m *moneyGate) watch(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	for _, g := range m.gates {
		go func() {
			select {
			case <-g.Failed():
				cancel(g.Err())
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

func (m *moneyGate) close() error {
	var errs []error
	for _, g := range m.gates {
		errs = append(errs, g.Close())
	}
	return errors.Join(errs...)
}
