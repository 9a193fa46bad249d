package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"evalctl/harness/judging"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// planJudging opens the judge's model. It makes no request.
func (c *runCmd) planJudging(p *process) (*judging.Plan, error) {
	if c.LLMProvider == "" {
		return nil, fmt.Errorf("the judge needs a model: set SVC_LLM_PROVIDER to openai, ollama or fake, "+
			"or use --scorer %s", strings.Join(offlineScorers(), " or "))
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
	return judging.New(judging.Config{
		Provider: provider, Model: model, BaseURL: c.modelURL(p),
		Prompts: c.scorer.Prompts(), Prices: c.prices, Cap: c.budget,
	})
}

// newScorer returns the scorer of a run that has spent money already.
func (c *runCmd) newScorer(pl *plan, spent llm.USD) (scorer.Scorer, error) {
	if pl.judging == nil {
		return c.scorer.Offline(c.TopK), nil
	}
	return pl.judging.NewScorer(spent)
}

// modelURL returns the URL of the model provider, for the result.
func (c *runCmd) modelURL(p *process) string { return recordedURL(c.llmConfig(p, "")) }

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
