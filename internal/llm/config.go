package llm

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// The providers that Open accepts, as in SVC_LLM_PROVIDER.
const (
	ProviderOpenAI = "openai"
	ProviderOllama = "ollama"
	ProviderFake   = "fake"
)

// OpenAIBaseURL is the default base URL of provider "openai".
const OpenAIBaseURL = "https://api.openai.com/v1"

const (
	ollamaPort        = "11434"
	openAIKeyVariable = "OPENAI_API_KEY"
)

// Config selects a provider. The caller fills it from flags and the environment.
type Config struct {
	// Provider is one of the Provider constants.
	Provider string
	// Model is the model to use. Provider "fake" needs none.
	Model string
	// BaseURL is the URL of an OpenAI-compatible API up to and including its version, as in
	// "http://localhost:8000/v1". Empty means OpenAIBaseURL.
	BaseURL string
	// APIKey is required for OpenAIBaseURL.
	APIKey string
	// KeyVariable is the environment variable of APIKey, which errors name. Empty means
	// OPENAI_API_KEY.
	KeyVariable string
	// PerSecond limits the HTTP requests per second, including retries; 0 means no limit. A burst
	// of one second's worth of requests passes at once.
	PerSecond float64
	// Patience is how long a call is repeated after temporary failures. 0 means up to
	// DefaultMaxAttempts requests, with waits of at most a minute.
	Patience time.Duration
	// OllamaHost is a host, host:port or URL. Empty means 127.0.0.1:11434.
	OllamaHost string
}

// Open returns the provider that the configuration names. It makes no request.
func Open(c Config) (Provider, error) {
	if err := checkProvider("model", c.Provider, "SVC_LLM_PROVIDER"); err != nil {
		return nil, err
	}
	if c.Provider == ProviderFake {
		return NewFake(), nil
	}
	o, err := c.openAI("SVC_LLM_MODEL", "OPENAI_BASE_URL", cmp.Or(c.KeyVariable, openAIKeyVariable))
	if err != nil {
		return nil, err
	}
	return newOpenAI(o)
}

// checkProvider returns an error for a provider that does not exist. kind is the purpose of the
// provider, and variable sets it.
func checkProvider(kind, provider, variable string) error {
	switch provider {
	case ProviderFake, ProviderOpenAI, ProviderOllama:
		return nil
	case "":
		return fmt.Errorf("no %s provider: set %s to openai, ollama or fake", kind, variable)
	}
	return fmt.Errorf("unknown %s provider %s: set %s to openai, ollama or fake", kind, quote(provider), variable)
}

// openAI returns the endpoint of a provider other than "fake". The variable names are for its
// errors, which say what to set.
func (c Config) openAI(modelVariable, urlVariable, keyVariable string) (endpointConfig, error) {
	if c.Model == "" {
		return endpointConfig{}, fmt.Errorf("no model for provider %s: set %s", c.Provider, modelVariable)
	}
	if err := c.checkKey(urlVariable, keyVariable); err != nil {
		return endpointConfig{}, err
	}
	e := endpointConfig{Name: c.Provider, BaseURL: c.baseURL(), Limiter: limiter(c.PerSecond), Patience: c.Patience}
	if c.Provider == ProviderOpenAI {
		e.APIKey, e.KeyVariable = c.APIKey, keyVariable
	}
	return e, nil
}

// baseURL returns the base URL of a provider other than "fake".
func (c Config) baseURL() string {
	if c.Provider == ProviderOllama {
		return ollamaURL(c.OllamaHost)
	}
	return cmp.Or(c.BaseURL, OpenAIBaseURL)
}

func (c Config) checkKey(urlVariable, keyVariable string) error {
	if c.APIKey == "" && strings.TrimRight(c.baseURL(), "/") == OpenAIBaseURL {
		return fmt.Errorf("provider openai needs a key: set %s, or %s for another endpoint", keyVariable, urlVariable)
	}
	return nil
}

// Endpoint returns the configured base URL, without a slash at its end, and the key that is sent to
// it, which may be empty. Provider "fake" has neither. Model is not used.
func (c Config) Endpoint() (baseURL, key string, err error) {
	switch c.Provider {
	case ProviderOpenAI:
		key = c.APIKey
	case ProviderOllama:
	default:
		return "", "", fmt.Errorf("provider %s has no endpoint: set SVC_LLM_PROVIDER to openai or ollama", quote(c.Provider))
	}
	if err := c.checkKey("OPENAI_BASE_URL", openAIKeyVariable); err != nil {
		return "", "", err
	}
	e, err := newEndpoint(endpointConfig{BaseURL: c.baseURL(), APIKey: key}, "")
	return e.url, key, err
}

func limiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}

// ollamaURL completes a host as Ollama's own client does: with http and port 11434 where they are
// missing.
func ollamaURL(host string) string {
	if host == "" {
		host = "127.0.0.1"
	}
	if !strings.Contains(host, "://") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), ollamaPort)
		}
		host = "http://" + host
	}
	return strings.TrimRight(host, "/") + "/v1"
}
