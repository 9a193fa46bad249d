package replay

import (
	"fmt"

	"evalctl/harness/judging"
	"evalctl/internal/llm"
	"evalctl/replay/ledger"
	"evalctl/scorer"
)

// means are what arms are measured with, in the process that has a replay and in a worker.
type means struct {
	plan  *Plan
	books ledger.Books
	cache *llm.Cache
	files Files // the logs of daemons, and in the process that has the replay all others
}

// cached returns the provider of a cache that asks a model: llm.Cache.Wrap or llm.Cache.Refresh.
type cached func(m *llm.Meter, baseURL string) llm.Provider

// counted returns a model whose calls are in the books and whose replies are cached, nil for nil.
func (m *means) counted(
	p llm.Provider, config *llm.Config, phase ledger.Phase, arm string, wrap cached,
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

// judging returns the judge, or the panel, whose calls are in the books as those of an arm.
func (m *means) judging(arm string, wrap cached, maxUnusable int) (*judging.Plan, error) {
	counted := func(p llm.Provider, config *llm.Config) (llm.Provider, error) {
		return m.counted(p, config, ledger.Judge, arm, wrap)
	}
	provider, err := counted(m.plan.judge, m.plan.Judge)
	if err != nil {
		return nil, err
	}
	c := m.plan.judgedBy(provider)
	c.Metered, c.MaxUnusable = true, maxUnusable
	return m.plan.plannedJudge(c, counted)
}

// scorer returns the scorer of an arm's answers.
func (m *means) scorer(arm string) (scorer.Scorer, error) {
	if m.plan.judging == nil {
		return m.plan.scoredBy(nil)
	}
	judge, err := m.judging(arm, m.cache.Wrap, m.plan.MaxUnusable)
	if err != nil {
		return nil, err
	}
	return m.plan.scoredBy(judge)
}

// controlScorer returns the scorer of controls. They check the headline of a panel, and package
// control has a limit of its own for verdicts that are unusable.
func (m *means) controlScorer(wrap cached) (scorer.Scorer, error) {
	if m.plan.judging == nil {
		return m.plan.scoredBy(nil)
	}
	judge, err := m.judging(controlArm, wrap, 0)
	if err != nil {
		return nil, err
	}
	return judge.NewScorer(0)
}
