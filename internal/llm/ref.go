package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Environment variables of the judge. With them the judge can have another provider than the model
// that answers.
const (
	JudgeURLVariable = "SVC_EVAL_JUDGE_BASE_URL"
	JudgeKeyVariable = "SVC_EVAL_JUDGE_API_KEY"
)

// judgePerSecond limits the requests to the judge of a replay and of judge check.
const judgePerSecond = 20

// Providers are the names of the model providers.
var Providers = []string{ProviderOpenAI, ProviderOllama, ProviderFake}

// Ref names a model and its provider. Name is empty if only the provider is known.
type Ref struct{ Provider, Name string }

// Env returns the value of an environment variable, empty if it is not set.
type Env func(name string) string

// ParseRef parses [PROVIDER/]MODEL, the value of a flag that errors name. The text before the first
// slash is a provider only if it is one of Providers, because the name of a model may contain
// slashes. Otherwise the provider is SVC_LLM_PROVIDER, or openai if that is not set. The provider
// fake has one model, so fake alone names both.
func ParseRef(env Env, flag, value string) (Ref, error) {
	fail := func(format string, args ...any) (Ref, error) {
		return Ref{}, fmt.Errorf("--%s %s: %w", flag, value, fmt.Errorf(format, args...))
	}
	byDefault := cmp.Or(env("SVC_LLM_PROVIDER"), ProviderOpenAI)
	if !slices.Contains(Providers, byDefault) {
		return Ref{}, fmt.Errorf("SVC_LLM_PROVIDER %q: must be openai, ollama or fake", byDefault)
	}
	ref := Ref{byDefault, value}
	if provider, name, ok := strings.Cut(value, "/"); ok && slices.Contains(Providers, provider) {
		ref = Ref{provider, name}
	} else if value == ProviderFake {
		ref = Ref{ProviderFake, FakeModel}
	}
	switch {
	case ref.Name == "" || strings.TrimSpace(ref.Name) != ref.Name:
		return fail("write [PROVIDER/]MODEL, such as gpt-4o or ollama/llama3.1")
	case ref.Provider == ProviderFake && ref.Name != FakeModel:
		return fail("the provider fake has only the model fake: write fake, or openai/MODEL or ollama/MODEL")
	}
	return ref, nil
}

// RefOf returns the model that value, [PROVIDER/]MODEL, names, or only the provider if value is
// empty. The provider is --llm-provider, SVC_LLM_PROVIDER or openai, in this order. The value of
// SVC_LLM_MODEL, and any value with --llm-provider, is the whole name of a model, with all its
// slashes.
func RefOf(env Env, provider, value string) Ref {
	whole := value == env("SVC_LLM_MODEL") || provider != env("SVC_LLM_PROVIDER")
	prefix, name, ok := strings.Cut(value, "/")
	switch {
	case value == "" || whole:
		return Ref{provider, value}
	case ok && slices.Contains(Providers, prefix):
		return Ref{prefix, name}
	case value == ProviderFake:
		return Ref{ProviderFake, FakeModel}
	}
	return Ref{cmp.Or(provider, ProviderOpenAI), value}
}

// String returns PROVIDER/MODEL.
func (m Ref) String() string { return m.Provider + "/" + m.Name }

// Config returns how to open the model.
func (m Ref) Config(env Env) Config {
	return Config{
		Provider: m.Provider, Model: m.Name, BaseURL: env("OPENAI_BASE_URL"),
		APIKey: env("OPENAI_API_KEY"), OllamaHost: env("OLLAMA_HOST"),
	}
}

// JudgeConfig is Config for a judge. For the provider openai, SVC_EVAL_JUDGE_BASE_URL and
// SVC_EVAL_JUDGE_API_KEY come first. The key in OPENAI_API_KEY is not sent to the former.
func (m Ref) JudgeConfig(env Env) Config {
	c := m.Config(env)
	c.PerSecond = judgePerSecond
	own, ownKey := env(JudgeURLVariable), env(JudgeKeyVariable)
	if own != "" || ownKey != "" {
		c.KeyVariable = JudgeKeyVariable
	}
	if own != "" {
		c.BaseURL, c.APIKey = own, ""
	}
	c.APIKey = cmp.Or(ownKey, c.APIKey)
	return c
}

// OpenJudge opens a judge with a configuration based on JudgeConfig. It makes no request.
func OpenJudge(env Env, c Config) (Provider, error) {
	provider, err := Open(c)
	if err != nil && c.APIKey == "" && env(JudgeURLVariable) != "" {
		err = errors.Join(err, fmt.Errorf("with %s, the key is read from %s", JudgeURLVariable, JudgeKeyVariable))
	}
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	return provider, nil
}

// RecordedURL returns the URL of a model's provider for results, without credentials. It is empty
// for a provider without a URL.
func RecordedURL(c Config) string {
	switch c.Provider {
	case ProviderOpenAI:
		return WithoutSecrets(cmp.Or(c.BaseURL, OpenAIBaseURL))
	case ProviderOllama:
		return WithoutSecrets(cmp.Or(c.OllamaHost, "127.0.0.1"))
	}
	return ""
}

// WithoutSecrets removes user information, query and fragment from a URL or a bare host. The judge
// rejects them, but other daemons may read with them.
func WithoutSecrets(address string) string {
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
