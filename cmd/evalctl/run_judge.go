package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// ordinaryAnswer is the length of an answer in forecasts, in bytes.
const ordinaryAnswer = 400

// planJudge opens the judge's model and sets the plan's judge and its scorer's constructor. The
// function that it returns adds an item to the forecast of the cost.
func (c *runCmd) planJudge(p *process, pl *plan) (forecast func(scorer.Item), err error) {
	if c.LLMProvider == "" {
		return nil, fmt.Errorf("the judge needs a model: set SVC_LLM_PROVIDER to openai, ollama or fake, or use --scorer %s",
			strings.Join(offlineScorers(), " or "))
	}
	model := cmp.Or(c.JudgeModel, c.LLMModel)
	if c.LLMProvider == llm.ProviderFake {
		model = llm.ProviderFake
	}
	if model == "" {
		return nil, errors.New("the judge needs a model: set SVC_EVAL_JUDGE_MODEL or SVC_LLM_MODEL")
	}
	config := c.llmConfig(p, model)
	config.PerSecond = c.JudgeRPS
	provider, err := llm.Open(config)
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	if _, ok := c.prices.Of(provider.Name(), model); !ok {
		pl.unpriced = model
	}
	meter := func(budget *llm.Budget) (*llm.Meter, *scorer.Judge, error) {
		m, err := llm.NewMeter(provider, c.prices, budget)
		if err == nil {
			err = m.CheckModel(model)
		}
		if err != nil {
			return nil, nil, err
		}
		j, err := c.scorer.WithModel(m, model)
		return m, j, err
	}
	pl.newScorer = func(spent llm.USD) (scorer.Scorer, error) {
		b, err := c.budgetAfter(spent)
		if err != nil {
			return nil, err
		}
		_, j, err := meter(b)
		return j, err
	}
	m, j, err := meter(nil)
	if err != nil {
		return nil, err
	}
	prompts := j.Prompts()
	pl.judge = &result.JudgeModel{
		Provider: provider.Name(), Model: model, BaseURL: c.modelURL(p),
		PromptVersion: prompts.Name, PromptSHA256: prompts.SHA256(),
	}
	if !llm.IsReasoningModel(model) {
		pl.judge.Temperature = new(0.0)
	}
	pl.worst = func(item scorer.Item) llm.USD {
		// A repair's request is longer by one reply, which costs less than another request.
		const requests = 3 * llm.DefaultMaxAttempts
		return requests * m.WorstCase(j.Request(item))
	}
	return func(item scorer.Item) {
		item.Answer = strings.Repeat("x", ordinaryAnswer)
		pl.likely += m.Likely(j.Request(item))
	}, nil
}

// budgetAfter returns the cap, with what a resumed run has already spent charged to it, or nil if
// there is no cap.
func (c *runCmd) budgetAfter(spent llm.USD) (*llm.Budget, error) {
	if c.budget == nil {
		return nil, nil
	}
	b := llm.NewBudget(*c.budget)
	r, err := b.Reserve(context.Background(), 0) // a reservation of 0 always fits
	if err != nil {
		return nil, err
	}
	r.Settle(spent)
	return b, nil
}

// modelURL returns the URL of the model provider of judge and reader, for the result.
func (c *runCmd) modelURL(p *process) string {
	switch c.LLMProvider {
	case llm.ProviderOpenAI:
		return withoutSecrets(cmp.Or(p.env("OPENAI_BASE_URL"), llm.OpenAIBaseURL))
	case llm.ProviderOllama:
		return withoutSecrets(cmp.Or(p.env("OLLAMA_HOST"), "127.0.0.1"))
	}
	return ""
}

// withoutSecrets removes user information, query and fragment from a URL or a bare host. The judge
// rejects them, but other daemons may read with them.
func withoutSecrets(address string) string {
	if !strings.ContainsAny(address, "@?#") {
		return address
	}
	full := address
	if !strings.Contains(address, "://") {
		full = "//" + address
	}
	u, err := url.Parse(full)
	if err != nil || u.Host == "" {
		return "unreadable"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return strings.TrimPrefix(u.String(), "//")
}
