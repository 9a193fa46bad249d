package replay

import (
	"fmt"

	"evalctl/harness/judging"
	"evalctl/harness/ledger"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// instruments are shared by the arms of one process, which runs the replay or is a worker.
type instruments struct {
	plan  *Plan
	books ledger.Books
	cache *llm.Cache
	files Files // the logs of daemons, and in the process that has the replay all others
}

// cacheFunc wraps a model's meter in a cache: llm.Cache.Wrap or llm.Cache.Refresh.
type cacheFunc func(m *llm.Meter, baseURL string) llm.Provider

// meteredModel returns a model whose calls are booked and whose replies are cached, nil for nil.
func (m *instruments) meteredModel(
	p llm.Provider, config *llm.Config, phase ledger.Phase, arm string, wrap cacheFunc,
) (llm.Provider, error) {
	if p == nil {
		return nil, nil
	}
	meter, err := llm.NewAccountMeter(p, m.plan.Prices, m.books.Account(phase, arm))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", phase, err)
	}
	return wrap(meter, llm.RecordedURL(*config)), nil
}

// client connects the judge of an arm to its models.
func (m *instruments) client(arm string, wrap cacheFunc, maxUnusable int) judging.Client {
	return judging.Client{Account: m.books.Account(ledger.Judge, arm), Cached: wrap, MaxUnusable: maxUnusable}
}

// scorer returns the scorer for an arm's answers.
func (m *instruments) scorer(arm string) (scorer.Scorer, error) {
	return m.plan.openScorer(m.client(arm, m.cache.Wrap, m.plan.MaxUnusable))
}

// controlScorer returns the scorer for the controls. It uses only the headline recipe of a panel
// and no limit on unusable verdicts, since package control has its own.
func (m *instruments) controlScorer(wrap cacheFunc) (scorer.Scorer, error) {
	c := m.client(controlArm, wrap, 0)
	if m.plan.judgePlan == nil {
		return m.plan.openScorer(c)
	}
	return m.plan.judgePlan.Headline(c)
}
