package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"
)

// Embedder turns texts into vectors. Implementations are safe for concurrent
// use.
type Embedder interface {
	// Name identifies the model and where it runs. Vectors of different names
	// cannot be compared.
	Name() string
	// Embed returns one vector for each text, in order, all of the same length.
	// The caller may change them. Texts that the provider refuses while it takes
	// others are a *RefusedError, beside which stand the vectors of the others.
	// Other errors are *Error when the call reached for a provider and failed; a
	// context's end is returned as it is. Beside them stand what vectors there
	// are, nil in the places of the others, or nothing.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// MaxModelText bounds in bytes what embedders and rerankers read of one text:
// the rest is cut off, at a character. No tokenizer makes more tokens than
// bytes, so it keeps within the 8,192 tokens that the common models take.
const MaxModelText = 8000

// OpenEmbedder makes the embedder that the configuration names, provider
// openai, ollama or fake. It makes no request.
func OpenEmbedder(c Config) (Embedder, error) {
	switch c.Provider {
	case ProviderFake:
		return NewFakeEmbedder(), nil
	case ProviderOpenAI, ProviderOllama:
	case "":
		return nil, errors.New("no embedding provider: set SVC_EMBED_PROVIDER to openai, ollama or fake")
	default:
		return nil, fmt.Errorf("unknown embedding provider %s: set SVC_EMBED_PROVIDER to openai, ollama or fake", quote(c.Provider))
	}
	o, err := c.openAI("SVC_EMBED_MODEL", "SVC_EMBED_BASE_URL")
	if err != nil {
		return nil, err
	}
	return NewOpenAIEmbedder(o, c.Model)
}

// cutText is text within MaxModelText.
func cutText(text string) string {
	if len(text) <= MaxModelText {
		return text
	}
	end := MaxModelText
	for end > MaxModelText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

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
