package plan

import (
	"context"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
)

// embeddingMeter measures what a daemon embeds during a run, by the metrics of its process.
type embeddingMeter struct {
	known         bool
	before, added target.Embeddings // of the running process, and of those before it
}

// readEmbeddings returns what the metrics of a service say. ok is false if they say nothing.
func readEmbeddings(ctx context.Context, s target.Service) (target.Embeddings, bool) {
	e, ok := s.(interface {
		Embeddings(ctx context.Context) (target.Embeddings, bool)
	})
	if !ok {
		return target.Embeddings{}, false
	}
	return e.Embeddings(ctx)
}

// begin starts the measurement.
func (m *embeddingMeter) begin(ctx context.Context, s target.Service) {
	m.before, m.known = readEmbeddings(ctx, s)
}

// restart is to be called before the process of a service ends, and begins again with the next one.
// If its metrics cannot be read, as after a crash, the sum is not known.
func (m *embeddingMeter) restart(ctx context.Context, s target.Service) {
	m.added, m.known = m.sum(ctx, s)
	m.before = target.Embeddings{}
}

func (m *embeddingMeter) sum(ctx context.Context, s target.Service) (target.Embeddings, bool) {
	if !m.known {
		return target.Embeddings{}, false
	}
	now, ok := readEmbeddings(ctx, s)
	if ok {
		now, ok = now.Since(m.before)
	}
	return now.Plus(m.added), ok
}

// result returns what is recorded, nil if it is not known. resumed is set if the run began before.
func (m *embeddingMeter) result(ctx context.Context, s target.Service, prices llm.Prices, date string, resumed bool) *result.Embeddings {
	sum, ok := m.sum(ctx, s)
	if !ok {
		return nil
	}
	e := &result.Embeddings{
		Provider: sum.Provider, Model: sum.Model, Embedded: sum.Embedded, Cached: sum.Cached, Resumed: resumed,
	}
	if sum.Uncounted == 0 {
		e.Tokens = &sum.Tokens
	}
	if price, ok := prices.Of(sum.Provider, sum.Model); ok {
		e.Price = &price.Input
		if price.Input > 0 {
			e.PricesDate = date
		}
	}
	e.USD = e.Cost()
	return e
}
