package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
)

// Embedder turns texts into vectors. Implementations are safe for concurrent
// use.
type Embedder interface {
	// Name identifies the model and where it runs. Vectors of different names
	// cannot be compared.
	Name() string
	// Embed returns one vector for each text, in order, all of the same length.
	// The caller may change them. Texts that the provider refuses while it takes
	// others are a *refusedError, beside which stand the vectors of the others.
	// Other errors are *Error when the call reached for a provider and failed; a
	// context's end is returned as it is. Beside them stand what vectors there
	// are, nil in the places of the others, or nothing.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// maxModelText bounds in bytes what embedders and rerankers read of one text:
// the rest is cut off, at a character. No tokenizer makes more tokens than
// bytes, so it keeps within the 8,192 tokens that the common models take.
const maxModelText = 8000

// EmbedConfig chooses an embedder. The caller reads it from flags and
// environment.
type EmbedConfig struct {
	// Provider is openai, ollama or fake.
	Provider string
	// Model that will be asked for; "fake" needs none.
	Model string
	// BaseURL of an OpenAI-compatible API; empty means LLM's.
	BaseURL string
	// APIKey for it. Empty means LLM's where LLM's key belongs: at the scheme,
	// host and port of LLM's base URL. No other server gets that key.
	APIKey string
	// PerSecond bounds the requests as Config.PerSecond does.
	PerSecond float64
	// LLM is where the reader's models are: its BaseURL, APIKey and OllamaHost.
	LLM Config
}

// OpenEmbedder makes the embedder that the configuration names. It makes no
// request.
func OpenEmbedder(c EmbedConfig) (Embedder, error) {
	switch c.Provider {
	case ProviderFake:
		return NewFakeEmbedder(), nil
	case ProviderOpenAI, ProviderOllama:
	case "":
		return nil, errors.New("no embedding provider: set SVC_EMBED_PROVIDER to openai, ollama or fake")
	default:
		return nil, fmt.Errorf("unknown embedding provider %s: set SVC_EMBED_PROVIDER to openai, ollama or fake", quote(c.Provider))
	}
	where, keyVariable := c.endpoint()
	o, err := where.openAI("SVC_EMBED_MODEL", "SVC_EMBED_BASE_URL", keyVariable)
	if err != nil {
		return nil, err
	}
	return newOpenAIEmbedder(o, c.Model)
}

// endpoint is where to embed, and the variable of the key for that.
func (c EmbedConfig) endpoint() (Config, string) {
	where := Config{
		Provider: c.Provider, Model: c.Model, BaseURL: cmp.Or(c.BaseURL, c.LLM.BaseURL),
		APIKey: c.APIKey, PerSecond: c.PerSecond, OllamaHost: c.LLM.OllamaHost,
	}
	if c.APIKey != "" || !sameServer(cmp.Or(where.BaseURL, OpenAIBaseURL), cmp.Or(c.LLM.BaseURL, OpenAIBaseURL)) {
		return where, "SVC_EMBED_API_KEY"
	}
	where.APIKey = c.LLM.APIKey
	return where, openAIKeyVariable
}

// sameServer reports whether two base URLs have the same scheme, host and port.
func sameServer(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Hostname(), y.Hostname()) && portOf(x) == portOf(y)
}

func portOf(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}
	return cmp.Or(u.Port(), usual[u.Scheme])
}

// cutText is text within maxModelText.
func cutText(text string) string { return cutBytes(text, maxModelText) }

// batches cuts texts into runs of at most count texts and size bytes, each text
// as cutText leaves it, and yields their bounds.
func batches(texts []string, count, size int) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		start, bytes := 0, 0
		for i, text := range texts {
			n := len(cutText(text))
			if i > start && (i-start == count || bytes+n > size) {
				if !yield(start, i) {
					return
				}
				start, bytes = i, 0
			}
			bytes += n
		}
		if start < len(texts) {
			yield(start, len(texts))
		}
	}
}
