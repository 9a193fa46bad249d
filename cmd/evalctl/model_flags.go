package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evalctl/internal/llm"
)

// Environment variables of the judge of a replay and of judge check. They let the judge be of
// another provider than the model that answers.
const (
	judgeURLVariable = "SVC_EVAL_JUDGE_BASE_URL"
	judgeKeyVariable = "SVC_EVAL_JUDGE_API_KEY"
)

// judgePerSecond limits the requests to the judge of a replay and of judge check.
const judgePerSecond = 20

// modelRef names a model and its provider.
type modelRef struct{ provider, name string }

// parseModel parses [PROVIDER/]MODEL, the value of a flag. The text before the first slash is a
// provider only if it is one of providers, since the name of a model may contain slashes. Otherwise
// the provider is SVC_LLM_PROVIDER, or openai if that is not set. The provider fake has one model,
// so that fake alone names both.
func parseModel(p *process, flag, value string) (modelRef, error) {
	fail := func(format string, args ...any) (modelRef, error) {
		return modelRef{}, fmt.Errorf("--%s %s: %w", flag, value, fmt.Errorf(format, args...))
	}
	byDefault := cmp.Or(p.env("SVC_LLM_PROVIDER"), llm.ProviderOpenAI)
	if !slices.Contains(providers, byDefault) {
		return modelRef{}, fmt.Errorf("SVC_LLM_PROVIDER %q: must be openai, ollama or fake", byDefault)
	}
	ref := modelRef{byDefault, value}
	if provider, name, ok := strings.Cut(value, "/"); ok && slices.Contains(providers, provider) {
		ref = modelRef{provider, name}
	} else if value == llm.ProviderFake {
		ref = modelRef{llm.ProviderFake, llm.FakeModel}
	}
	switch {
	case ref.name == "" || strings.TrimSpace(ref.name) != ref.name:
		return fail("write [PROVIDER/]MODEL, such as gpt-4o or ollama/llama3.1")
	case ref.provider == llm.ProviderFake && ref.name != llm.FakeModel:
		return fail("the provider fake has only the model fake: write fake, or openai/MODEL or ollama/MODEL")
	}
	return ref, nil
}

// modelOf returns the model that value, [PROVIDER/]MODEL, names, or only the provider if it is
// empty. The provider is that of --llm-provider or SVC_LLM_PROVIDER, or else openai. The value of
// SVC_LLM_MODEL is the whole name of a model, whatever slashes it has, and so is any value with
// --llm-provider.
func modelOf(p *process, provider, value string) modelRef {
	whole := value == p.env("SVC_LLM_MODEL") || provider != p.env("SVC_LLM_PROVIDER")
	prefix, name, ok := strings.Cut(value, "/")
	switch {
	case value == "" || whole:
		return modelRef{provider, value}
	case ok && slices.Contains(providers, prefix):
		return modelRef{prefix, name}
	case value == llm.ProviderFake:
		return modelRef{llm.ProviderFake, llm.FakeModel}
	}
	return modelRef{cmp.Or(provider, llm.ProviderOpenAI), value}
}

func (m modelRef) String() string { return m.provider + "/" + m.name }

// config returns how to open the model.
func (m modelRef) config(p *process) llm.Config {
	return llm.Config{
		Provider: m.provider, Model: m.name, BaseURL: p.env("OPENAI_BASE_URL"),
		APIKey: p.env("OPENAI_API_KEY"), OllamaHost: p.env("OLLAMA_HOST"),
	}
}

// judgeConfig is config for a judge. For the provider openai, SVC_EVAL_JUDGE_BASE_URL and
// SVC_EVAL_JUDGE_API_KEY come first. The key in OPENAI_API_KEY is not sent to the former.
func (m modelRef) judgeConfig(p *process) llm.Config {
	c := m.config(p)
	c.PerSecond = judgePerSecond
	if url := p.env(judgeURLVariable); url != "" {
		c.BaseURL, c.APIKey = url, ""
	}
	c.APIKey = cmp.Or(p.env(judgeKeyVariable), c.APIKey)
	return c
}

// openJudge opens the judge that m names. It makes no request.
func (m modelRef) openJudge(p *process) (llm.Provider, error) {
	c := m.judgeConfig(p)
	provider, err := llm.Open(c)
	if err != nil && c.APIKey == "" && p.env(judgeURLVariable) != "" {
		err = errors.Join(err, fmt.Errorf("with %s, the key is that in %s", judgeURLVariable, judgeKeyVariable))
	}
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	return provider, nil
}

// recordedURL returns the URL of a model's provider for results, without credentials, empty for a
// provider that has none.
func recordedURL(c llm.Config) string {
	switch c.Provider {
	case llm.ProviderOpenAI:
		return withoutSecrets(cmp.Or(c.BaseURL, llm.OpenAIBaseURL))
	case llm.ProviderOllama:
		return withoutSecrets(cmp.Or(c.OllamaHost, "127.0.0.1"))
	}
	return ""
}
