package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/judging"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// Money limits the total cost of a command's models.
type Money struct {
	Prices llm.Prices
	// PricesDate is the date of the prices. Priced are prefixes of the names of models with prices
	// given by the user.
	PricesDate string
	Priced     []string
	// Cap is the limit, nil for none. Unmetered permits a daemon to make uncounted calls.
	Cap       *llm.USD
	Unmetered bool
	// CapOptions are the options that a resumed run keeps of Cap, nil unless its command line has
	// it.
	CapOptions json.RawMessage
}

// Models says which models answer and judge.
type Models struct {
	// Provider is the provider of models given without one, empty for the default.
	Provider string
	// Reader and Judge have the form [PROVIDER/]MODEL. Judge defaults to Reader.
	Reader, Judge string
	// PerSecond limits the requests to the judge, and MaxUnusable its consecutive unusable
	// verdicts. 0 means no limit.
	PerSecond   float64
	MaxUnusable int
	// Options configure the judge's requests, and Patience how long to wait (see llm.Config).
	Options  llm.Options
	Patience time.Duration
	// Panel has the recipes of a panel of judges, nil for one judge.
	Panel []judging.Recipe
	// CacheDir is the folder for cached replies of judges, empty for none.
	CacheDir string
	Money
}

// find returns the answering and the judging model. Their names are empty if none is given.
func (m Models) find(env func(string) string) (reader, judge llm.Ref, err error) {
	if m.Provider != "" && !slices.Contains(llm.Providers, m.Provider) {
		return reader, judge, fmt.Errorf("SVC_LLM_PROVIDER %q: must be openai, ollama or fake", m.Provider)
	}
	reader = llm.RefOf(env, m.Provider, m.Reader)
	if judge = reader; m.Judge != "" {
		judge = llm.RefOf(env, m.Provider, m.Judge)
	}
	if judge.Provider == llm.ProviderFake {
		judge.Name = llm.FakeModel
	}
	return reader, judge, nil
}

// OpenJudge plans the judge for a kind of scorer. It makes no request.
func (m Models) OpenJudge(env func(string) string, kind scorer.Kind) (*judging.Plan, error) {
	_, judge, err := m.find(env)
	switch {
	case err != nil:
		return nil, err
	case judge.Provider == "":
		return nil, fmt.Errorf("the judge needs a model: give --model or --judge, set SVC_LLM_PROVIDER to openai, ollama or fake, "+
			"or use --scorer %s", strings.Join(offlineScorers(), " or "))
	case judge.Name == "":
		return nil, errors.New("the judge needs a model: give --model or --judge, or set SVC_EVAL_JUDGE_MODEL or SVC_LLM_MODEL")
	}
	first, err := m.config(env, judge)
	if err != nil {
		return nil, err
	}
	first.Prompts, first.Judged, first.Prices, first.Capped = kind.Prompts(), kind.Judged, m.Prices, m.Cap != nil
	if len(m.Panel) == 0 {
		return judging.New(first)
	}
	if kind.Offline != nil {
		return nil, fmt.Errorf("--judge-panel needs --scorer judge: a panel judges answers, not their parts")
	}
	opened := map[llm.Ref]judging.Config{judge: first} // how a model is asked is found out once
	return judging.NewPanel(first, m.Panel, func(model string) (judging.Config, error) {
		ref := llm.RefOf(env, m.Provider, model)
		if ref.Provider == llm.ProviderFake {
			ref.Name = llm.FakeModel
		}
		c, ok := opened[ref]
		if ok {
			return c, nil
		}
		c, err := m.config(env, ref)
		opened[ref] = c
		return c, err
	})
}

// config returns how to reach a judge, and the date of its price.
func (m Models) config(env func(string) string, judge llm.Ref) (judging.Config, error) {
	config := judge.JudgeConfig(env)
	config.PerSecond, config.Patience = m.PerSecond, m.Patience
	provider, err := llm.OpenJudge(env, config)
	if err != nil {
		return judging.Config{}, err
	}
	date := m.PricesDate
	if slices.ContainsFunc(m.Priced, func(named string) bool { return strings.HasPrefix(judge.Name, named) }) {
		date = ""
	}
	return judging.Config{
		Provider: provider, Model: judge.Name, BaseURL: llm.RecordedURL(config), PricesDate: date, Options: m.Options,
	}, nil
}

// Client connects the judge to its models.
func (m Models) Client(a llm.Account) (c judging.Client, err error) {
	c = judging.Client{Account: a, MaxUnusable: m.MaxUnusable}
	if m.CacheDir != "" {
		cache, err := llm.OpenCache(m.CacheDir, llm.CacheWrite, llm.DefaultCacheBytes)
		if err != nil {
			return c, fmt.Errorf("--judge-cache: %w", err)
		}
		c.Cached = cache.Wrap
	}
	return c, nil
}

// offlineScorers returns the names of the scorers that never need a model.
func offlineScorers() []string {
	var names []string
	for _, k := range scorer.Kinds() {
		if k.Prompts == nil {
			names = append(names, k.Name)
		}
	}
	return names
}
