package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Meter is a Provider that counts what another one costs and keeps it under a budget. It is safe
// for concurrent use.
//
// Each HTTP attempt has its own reservation. Its worst case is reserved before the attempt. After
// it, the reservation is settled with the cost of its usage. It is settled with the whole worst
// case if the attempt may have been charged although its answer was lost, or if the provider did
// not count its tokens; without a budget, uncounted tokens are charged as estimated. The cap
// therefore also holds when attempts are repeated. This relies on the provider to respect MaxTokens
// and to count usage correctly: a cost above the worst case is recorded as it is, and the next call
// is rejected.
type Meter struct {
	provider Provider
	prices   Prices
	budget   *Budget

	mu       sync.Mutex
	totals   Totals
	unpriced map[string]bool
}

// Totals is what a meter has counted so far.
type Totals struct {
	Calls    int
	Attempts int
	Usage    Usage
	// Cost is everything charged, Lost included.
	Cost USD
	// Lost is the worst case of the attempts that may have been charged but returned no answer. The
	// true bill is between Cost minus Lost and Cost, unless Usage is estimated.
	Lost USD
	// Unpriced contains the models whose price is not known, sorted. Their cost is missing from
	// Cost.
	Unpriced []string
}

// retrier is a provider that repeats failed requests within one call. It calls perAttempt for each
// attempt, which calls once unless it gives up.
type retrier interface {
	retrying(ctx context.Context, r Request, emit func(string) error,
		perAttempt func(once func() (Response, error)) (Response, error)) (Response, error)
}

// NewMeter wraps p. A nil budget means no cap: unpriced models are then allowed and listed in the
// totals. A Meter cannot wrap a Meter.
func NewMeter(p Provider, prices Prices, b *Budget) (*Meter, error) {
	if p == nil {
		return nil, errors.New("a meter needs a provider")
	}
	if _, ok := p.(*Meter); ok {
		return nil, errors.New("a meter cannot wrap a meter: calls would be counted twice")
	}
	return &Meter{provider: p, prices: prices, budget: b, unpriced: map[string]bool{}}, nil
}

// Name is the wrapped provider's name.
func (m *Meter) Name() string { return m.provider.Name() }

// CheckModel returns an error for a model whose price is not known if a cap is set. Call it before
// any work; each call to the model checks again.
func (m *Meter) CheckModel(model string) error {
	if _, ok := m.prices.Of(m.Name(), model); ok || m.budget == nil {
		return nil
	}
	return fmt.Errorf("no price is known for model %s of provider %s, so the spend cap cannot be enforced: "+
		"give --price model=in/out in dollars per million tokens", quote(model), m.Name())
}

// Complete calls the wrapped provider and accounts for the cost.
func (m *Meter) Complete(ctx context.Context, r Request) (Response, error) {
	return m.call(ctx, r, nil)
}

// Stream calls the wrapped provider and accounts for the cost.
func (m *Meter) Stream(ctx context.Context, r Request, emit func(string) error) (Response, error) {
	return m.call(ctx, r, emit)
}

func (m *Meter) call(ctx context.Context, r Request, emit func(string) error) (Response, error) {
	if err := m.CheckModel(r.Model); err != nil {
		return Response{}, err
	}
	m.mu.Lock()
	m.totals.Calls++
	m.mu.Unlock()

	var spent USD
	perAttempt := func(once func() (Response, error)) (Response, error) {
		resp, cost, err := m.attempt(ctx, r, once)
		spent = spent.plus(cost)
		return resp, err
	}
	resp, err := m.start(ctx, r, emit, perAttempt)
	resp.Cost = spent
	return resp, err
}

func (m *Meter) start(ctx context.Context, r Request, emit func(string) error,
	perAttempt func(func() (Response, error)) (Response, error)) (Response, error) {
	if p, ok := m.provider.(retrier); ok {
		return p.retrying(ctx, r, emit, perAttempt)
	}
	return perAttempt(func() (Response, error) {
		if emit == nil {
			return m.provider.Complete(ctx, r)
		}
		return m.provider.Stream(ctx, r, emit)
	})
}

// attempt runs one request within its own reservation.
func (m *Meter) attempt(ctx context.Context, r Request, once func() (Response, error)) (
	Response, USD, error) {
	worst := m.WorstCase(r)
	held, err := m.budget.Reserve(ctx, worst)
	if err != nil {
		return Response{}, 0, err
	}
	// If once panics, other calls must not wait for this reservation.
	defer held.Settle(worst)

	resp, err := once()
	price, known := m.prices.Of(m.Name(), r.Model)
	var cost, lost USD
	if err == nil {
		cost = price.cost(resp.Usage)
		if resp.Usage.Estimated && m.budget != nil {
			cost = max(cost, worst) // a cap cannot rely on a guess
		}
	} else if e, ok := errors.AsType[*Error](err); !ok || e.Billed {
		// This includes a context's end and an error from emit: the request was already sent.
		cost, lost = worst, worst
	}
	held.Settle(cost)
	m.add(r.Model, known, resp.Usage, cost, lost)
	return resp, cost, err
}

func (m *Meter) add(model string, known bool, u Usage, cost, lost USD) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &m.totals
	t.Attempts++
	t.Usage = t.Usage.Plus(u)
	t.Cost = t.Cost.plus(cost)
	t.Lost = t.Lost.plus(lost)
	if !known && !m.unpriced[model] {
		m.unpriced[model] = true
		t.Unpriced = append(t.Unpriced, model)
		slices.Sort(t.Unpriced)
	}
}

// Totals returns a copy of the counts so far.
func (m *Meter) Totals() Totals {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.totals
	t.Unpriced = slices.Clone(t.Unpriced)
	return t
}

const (
	// What a chat template adds around messages, with a margin.
	tokensPerMessage = 16
	tokensPerRequest = 64
	bytesPerToken    = 4
)

// WorstCase returns the most that one attempt at r can cost: one token for each byte sent, since no
// tokenizer produces more, the template around the messages, and MaxTokens of output. It is 0 for a
// model without a known price.
func (m *Meter) WorstCase(r Request) USD {
	price, _ := m.prices.Of(m.Name(), r.Model)
	in := inputBytes(r) + tokensPerMessage*len(r.Messages) + tokensPerRequest
	return price.cost(Usage{InputTokens: in, OutputTokens: r.MaxTokens})
}

// Likely returns a forecast of what r costs, for English prose at four bytes per token and a
// quarter of MaxTokens of output. A cap cannot rely on it.
func (m *Meter) Likely(r Request) USD {
	price, _ := m.prices.Of(m.Name(), r.Model)
	in := inputBytes(r)/bytesPerToken + tokensPerRequest
	return price.cost(Usage{InputTokens: in, OutputTokens: r.MaxTokens / 4})
}

func inputBytes(r Request) int {
	n := 0
	for _, msg := range r.Messages {
		n += len(msg.Role) + len(msg.Content)
	}
	return n
}

// estimate returns the usage, at four bytes per token, where the provider did not count.
func estimate(r Request, text string) Usage {
	return Usage{
		InputTokens:  max(1, tokens(inputBytes(r))),
		OutputTokens: max(1, tokens(len(text))),
		Estimated:    true,
	}
}

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
