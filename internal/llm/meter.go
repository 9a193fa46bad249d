package llm

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Meter is a Provider that counts the costs of another one and keeps them under the cap of an
// Account. It is safe for concurrent use.
//
// Each HTTP attempt has its own reservation. Its worst case is reserved before the attempt. After
// it, the reservation is settled with the cost of its usage, including the usage in an error's
// body. It is settled with the whole worst case if the answer was lost but may have been charged,
// and if the provider's count of tokens is missing or implausible. Without a cap, uncounted tokens
// are charged as estimated. The cap therefore also holds when attempts are repeated. This relies on
// the provider to respect MaxTokens: a usage above the worst case is implausible.
//
// The Witness of a call's context sees each attempt.
type Meter struct {
	provider Provider
	prices   Prices
	account  Account

	mu       sync.Mutex
	totals   Totals
	unpriced map[string]bool
}

// Totals are the counts of a meter so far.
type Totals struct {
	Calls    int
	Attempts int
	Usage    Usage
	// Cost is everything charged, Lost included.
	Cost USD
	// Lost is the worst case of the attempts whose tokens the provider did not count, such as
	// attempts that returned no answer. The true bill is between Cost minus Lost and Cost, unless
	// there is no cap and Usage is estimated.
	Lost USD
	// Unpriced contains the models with unknown prices, sorted. Their cost is missing from Cost.
	Unpriced []string
}

// retrier is a provider that repeats failed requests within one call. It calls perAttempt for each
// attempt, which calls once unless it gives up.
type retrier interface {
	retrying(ctx context.Context, r Request,
		perAttempt func(once func() (Response, error)) (Response, error)) (Response, error)
}

// NewMeter wraps p. A nil budget means no cap: unpriced models are then allowed and listed in the
// totals. A Meter cannot wrap a Meter, nor a provider that a Cache returned for one.
func NewMeter(p Provider, prices Prices, b *Budget) (*Meter, error) {
	return NewAccountMeter(p, prices, budgetAccount{b})
}

// NewAccountMeter wraps p. The account admits each attempt and is given its outcome.
func NewAccountMeter(p Provider, prices Prices, a Account) (*Meter, error) {
	if p == nil {
		return nil, errors.New("a meter needs a provider")
	}
	switch p.(type) {
	case *Meter, *cachedProvider:
		return nil, errors.New("a meter cannot wrap a meter: calls would be counted twice")
	}
	return &Meter{provider: p, prices: prices, account: a, unpriced: map[string]bool{}}, nil
}

// Name is the wrapped provider's name.
func (m *Meter) Name() string { return m.provider.Name() }

// CheckModel returns an error for a model with an unknown price if a cap is set. Call it before any
// work; each call to the model checks again.
func (m *Meter) CheckModel(model string) error {
	if !m.account.Capped() {
		return nil
	}
	return m.prices.Check(m.Name(), model)
}

// Complete calls the wrapped provider and accounts for the cost.
func (m *Meter) Complete(ctx context.Context, r Request) (Response, error) {
	if err := m.CheckModel(r.Model); err != nil {
		return Response{}, err
	}
	m.mu.Lock()
	m.totals.Calls++
	m.mu.Unlock()

	var spent USD
	perAttempt := func(once func() (Response, error)) (Response, error) {
		resp, cost, err := m.attempt(ctx, r, once)
		spent = spent.Plus(cost)
		return resp, err
	}
	var resp Response
	var err error
	if p, ok := m.provider.(retrier); ok {
		resp, err = p.retrying(ctx, r, perAttempt)
	} else {
		resp, err = perAttempt(func() (Response, error) { return m.provider.Complete(ctx, r) })
	}
	resp.Cost = spent
	return resp, err
}

// attempt runs one request within its own reservation.
func (m *Meter) attempt(ctx context.Context, r Request, once func() (Response, error)) (
	Response, USD, error) {
	worst := m.WorstCase(r)
	resume := paused(ctx)
	settle, err := m.account.Reserve(ctx, r.Model, worst)
	resume()
	if err != nil {
		return Response{}, 0, err
	}
	_, known := m.prices.Of(m.Name(), r.Model)
	c := Charge{Cost: worst, Lost: worst, Unpriced: !known}
	end, err := begin(ctx, c)
	if err != nil {
		settle(Charge{Rejected: true, Unpriced: !known})
		return Response{}, 0, err
	}
	outcome := outcomePanic
	// If once panics, other calls must not wait for this reservation.
	defer func() {
		settle(c)
		end(outcome, c)
	}()

	resp, err := once()
	outcome = outcomeOf(err)
	c = m.charge(r, &resp, err, c)
	m.add(r.Model, c)
	return resp, c.Cost, err
}

// charge returns the charge for an attempt. lost is the charge for an attempt without an outcome.
// It replaces an implausible usage.
func (m *Meter) charge(r Request, resp *Response, err error, lost Charge) Charge {
	e, failed := errors.AsType[*Error](err)
	switch {
	case failed && !e.Billed:
		return Charge{Rejected: true, Unpriced: lost.Unpriced}
	case err != nil && !resp.counted():
		// This includes a context's end and an error from emit: the request was sent.
		return lost
	}
	price, _ := m.prices.Of(m.Name(), r.Model)
	worst := worstUsage(r)
	if resp.UsageProblem == "" && !resp.Usage.Estimated {
		resp.UsageProblem = resp.Usage.Overrun(worst, price)
	}
	if resp.UsageProblem != "" {
		resp.Usage = worst
		lost.Usage, lost.UsageProblem = worst, resp.UsageProblem
		return lost
	}
	c := Charge{Usage: resp.Usage, Cost: price.Cost(resp.Usage), Unpriced: lost.Unpriced}
	if resp.Usage.Estimated && m.account.Capped() {
		c.Cost = max(c.Cost, lost.Cost) // a cap cannot rely on a guess
		c.Lost = c.Cost
	}
	return c
}

func (m *Meter) add(model string, c Charge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &m.totals
	t.Attempts++
	t.Usage = t.Usage.Plus(c.Usage)
	t.Cost = t.Cost.Plus(c.Cost)
	t.Lost = t.Lost.Plus(c.Lost)
	if c.Unpriced && !m.unpriced[model] {
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
	// The additions of a chat template around messages, with a margin.
	tokensPerMessage = 16
	tokensPerRequest = 64
	bytesPerToken    = 4
)

// WorstCase returns the most that one attempt at r can cost: one token for each byte sent, because
// no tokenizer produces more, the template around the messages, and MaxTokens of output. It is 0
// for a model without a known price.
func (m *Meter) WorstCase(r Request) USD {
	price, _ := m.prices.Of(m.Name(), r.Model)
	return price.Cost(worstUsage(r))
}

// worstUsage returns the most tokens that r can use.
func worstUsage(r Request) Usage {
	in := inputBytes(r) + tokensPerMessage*len(r.Messages) + tokensPerRequest
	return Usage{InputTokens: in, OutputTokens: r.MaxTokens, Estimated: true}
}

// Likely returns a forecast of the cost of r, for English prose at four bytes per token and a
// quarter of MaxTokens of output. A cap cannot rely on it.
func (m *Meter) Likely(r Request) USD {
	price, _ := m.prices.Of(m.Name(), r.Model)
	in := inputBytes(r)/bytesPerToken + tokensPerRequest
	return price.Cost(Usage{InputTokens: in, OutputTokens: r.MaxTokens / 4})
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
		InputTokens:  max(1, Tokens(inputBytes(r))),
		OutputTokens: max(1, Tokens(len(text))),
		Estimated:    true,
	}
}

// Tokens estimates the tokens of a text with a number of bytes: four bytes a token.
func Tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
