package llm

import (
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name     string
		config   Config
		provider string
		endpoint string
	}{
		{"fake", Config{Provider: "fake"}, "fake", ""},
		{"openai", Config{Provider: "openai", Model: "m", APIKey: "k"}, "openai", "https://api.openai.com/v1/chat/completions"},
		{"compatible", Config{Provider: "openai", Model: "m", BaseURL: "http://localhost:8000/v1/"}, "openai", "http://localhost:8000/v1/chat/completions"},
		{"ollama", Config{Provider: "ollama", Model: "m"}, "ollama", "http://127.0.0.1:11434/v1/chat/completions"},
		{"ollama host", Config{Provider: "ollama", Model: "m", OllamaHost: "box"}, "ollama", "http://box:11434/v1/chat/completions"},
		{"ollama port", Config{Provider: "ollama", Model: "m", OllamaHost: "box:99"}, "ollama", "http://box:99/v1/chat/completions"},
		{"ollama ipv6", Config{Provider: "ollama", Model: "m", OllamaHost: "[::1]:99"}, "ollama", "http://[::1]:99/v1/chat/completions"},
		{"ollama bare ipv6", Config{Provider: "ollama", Model: "m", OllamaHost: "::1"}, "ollama", "http://[::1]:11434/v1/chat/completions"},
		{"ollama url", Config{Provider: "ollama", Model: "m", OllamaHost: "https://box/x/"}, "ollama", "https://box/x/v1/chat/completions"},
	} {
		p, err := Open(tt.config)
		if err != nil || p.Name() != tt.provider {
			t.Errorf("%s: %v, %v", tt.name, p, err)
			continue
		}
		if o, ok := p.(*openAIProvider); ok && o.url != tt.endpoint {
			t.Errorf("%s: %s, want %s", tt.name, o.url, tt.endpoint)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		has    string
	}{
		{"nothing", Config{}, "set SVC_LLM_PROVIDER to openai, ollama or fake"},
		{"unknown", Config{Provider: "Fake"}, `"Fake"`},
		{"no model", Config{Provider: "openai", APIKey: "k"}, "SVC_LLM_MODEL"},
		{"no key", Config{Provider: "openai", Model: "m"}, "OPENAI_API_KEY"},
		{"no key, slash", Config{Provider: "openai", Model: "m", BaseURL: OpenAIBaseURL + "/"}, "OPENAI_API_KEY"},
		{"key with newline", Config{Provider: "openai", Model: "m", APIKey: secret + "\n"}, "API key"},
		{"scheme", Config{Provider: "openai", Model: "m", BaseURL: "file:///etc/passwd"}, "http://"},
		{"no scheme", Config{Provider: "openai", Model: "m", BaseURL: "user:" + secret + "@host/v1"}, "http://"},
		{"credentials", Config{Provider: "openai", Model: "m", BaseURL: "https://" + secret + "@host/v1"}, "must not contain a user or password: give the token or key separately"},
		{"query", Config{Provider: "openai", Model: "m", BaseURL: "https://host/v1?key=" + secret}, "?"},
		{"no host", Config{Provider: "openai", Model: "m", BaseURL: "https:///v1"}, "host"},
		{"not a URL", Config{Provider: "openai", Model: "m", BaseURL: "https://host/%zz" + secret}, "cannot be parsed"},
		{"ollama", Config{Provider: "ollama", Model: "m", OllamaHost: "ftp://box"}, "http://"},
	} {
		p, err := Open(tt.config)
		if err == nil || !strings.Contains(err.Error(), tt.has) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, %v", tt.name, p, err)
		}
	}
}

func TestOpenLimitsRequests(t *testing.T) {
	for perSecond, burst := range map[float64]int{0: 0, 0.5: 1, 20: 20} {
		p, err := Open(Config{Provider: "openai", Model: "m", APIKey: "k", PerSecond: perSecond})
		if err != nil {
			t.Fatal(err)
		}
		limiter := p.(*openAIProvider).limiter
		switch {
		case perSecond == 0:
			if limiter != nil {
				t.Error("limited without a limit")
			}
		case limiter == nil || float64(limiter.Limit()) != perSecond || limiter.Burst() != burst:
			t.Errorf("%v requests a second: got %+v", perSecond, limiter)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct {
		config   Config
		url, key string
		want     string // in the error
	}{
		{Config{Provider: ProviderOpenAI, APIKey: "k"}, OpenAIBaseURL, "k", ""},
		{Config{Provider: ProviderOpenAI, BaseURL: "http://h:1/v1/"}, "http://h:1/v1", "", ""},
		{Config{Provider: ProviderOllama, OllamaHost: "h", APIKey: "k"}, "http://h:11434/v1", "", ""},
		{Config{Provider: ProviderOpenAI}, "", "", "OPENAI_API_KEY"},
		{Config{Provider: ProviderOpenAI, BaseURL: "http://h:1/v1", APIKey: "a b"}, "", "", "no key has"},
		{Config{Provider: ProviderOpenAI, BaseURL: "h:1/v1"}, "", "", "base URL"},
		{Config{Provider: ProviderFake}, "", "", `provider "fake" has no endpoint`},
		{Config{}, "", "", `provider "" has no endpoint`},
	} {
		url, key, err := tt.config.Endpoint()
		if tt.want == "" && (err != nil || url != tt.url || key != tt.key) {
			t.Errorf("%+v: got %s, %s, %v", tt.config, url, key, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: got %v", tt.config, err)
		}
	}
}
