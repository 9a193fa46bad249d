package llm

import (
	"cmp"
	"context"
	"evalctl/internal/printable"
	"fmt"
	"iter"
	"net/url"
	"strings"
)

// Embedder turns texts into vectors. Implementations are safe for concurrent use.
type Embedder interface {
	// Name identifies the model and where it runs. Vectors of different names are not comparable.
	Name() string
	// Embed returns one vector for each text, in order and all of the same length. The caller may
	// modify them. If the provider rejects only some texts, Embed returns the vectors of the
	// others, and an error whose method Refused() []int returns the indexes of the rejected texts.
	// Any other error is an *Error if the request was sent to a provider, or the context's error as
	// it is. It may come with some vectors, and nil for the others.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// maxModelText is how many bytes of one text embedders and rerankers send. The rest is cut off
// between characters. A text never has more tokens than bytes, so this stays within the 8,192
// tokens that common models accept.
const maxModelText = 8000

// EmbedConfig selects an embedder. The caller fills it from flags and the environment.
type EmbedConfig struct {
	// Provider is openai, ollama or fake.
	Provider string
	// Model is the model to use. Provider "fake" needs none.
	Model string
	// BaseURL is the URL of an OpenAI-compatible API. Empty means LLM's.
	BaseURL string
	// Source is the base URL that names the vectors, empty for BaseURL. It is for a gateway whose
	// address changes.
	Source string
	// APIKey is the key for BaseURL. Empty means LLM's key, if BaseURL has the scheme, host and
	// port of LLM's base URL. No other server is sent that key.
	APIKey string
	// PerSecond limits the requests as Config.PerSecond does.
	PerSecond float64
	// LLM is the reader's configuration; its BaseURL, APIKey and OllamaHost are used.
	LLM Config
}

// OpenEmbedder returns the embedder that the configuration names. It makes no request.
func OpenEmbedder(c EmbedConfig) (Embedder, error) {
	if err := checkProvider("embedding", c.Provider, "SVC_EMBED_PROVIDER"); err != nil {
		return nil, err
	}
	if c.Provider == ProviderFake {
		return NewFakeEmbedder(), nil
	}
	where, keyVariable := c.endpoint()
	o, err := where.openAI("SVC_EMBED_MODEL", "SVC_EMBED_BASE_URL", keyVariable)
	if err != nil {
		return nil, err
	}
	return newOpenAIEmbedder(o, c.Model, c.Source)
}

// Upstream returns the URL that the texts are sent to, with the model and the key. It returns an
// error if this cannot be a paid provider or if the configuration is invalid, as OpenEmbedder does.
func (c EmbedConfig) Upstream() (Config, error) {
	if c.Provider != ProviderOpenAI {
		return Config{}, fmt.Errorf("embedding provider %s is not paid", quote(c.Provider))
	}
	_, err := OpenEmbedder(c)
	where, _ := c.endpoint()
	return where, err
}

// endpoint returns where to embed, and the name of the variable that holds the key for it.
func (c EmbedConfig) endpoint() (Config, string) {
	where := Config{
		Provider: c.Provider, Model: c.Model, BaseURL: cmp.Or(c.BaseURL, c.LLM.BaseURL),
		APIKey: c.APIKey, PerSecond: c.PerSecond, OllamaHost: c.LLM.OllamaHost,
	}
	here, there := cmp.Or(where.BaseURL, OpenAIBaseURL), cmp.Or(c.LLM.BaseURL, OpenAIBaseURL)
	if c.APIKey != "" || !sameServer(here, there) {
		return where, "SVC_EMBED_API_KEY"
	}
	where.APIKey = c.LLM.APIKey
	return where, openAIKeyVariable
}

// sameServer reports whether two base URLs have the same scheme, host and port.
func sameServer(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme &&
		strings.EqualFold(x.Hostname(), y.Hostname()) && portOf(x) == portOf(y)
}

func portOf(u *url.URL) string {
	usual := map[string]string{"http": "80", "https": "443"}
	return cmp.Or(u.Port(), usual[u.Scheme])
}

func cutText(text string) string { return printable.Prefix(text, maxModelText) }

// batches yields the bounds of consecutive runs of texts, each of at most count texts and size
// bytes after cutText. A run has at least one text.
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
