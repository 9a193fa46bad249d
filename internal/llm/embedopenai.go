package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"
)

const (
	maxEmbedTexts  = 128
	maxEmbedBytes  = 200_000
	embedsInFlight = 2
)

// openAIEmbedder embeds with any endpoint that implements OpenAI's embeddings API. Texts are sent
// in batches of at most 128 texts and 200,000 bytes, at most two batches at a time for all callers
// together. Each text is cut at maxModelText. Failed requests are retried as in openAIProvider.
// Rejected batches are split to find the rejected texts. It is safe for concurrent use.
type openAIEmbedder struct {
	endpoint
	client *openai.Client
	name   string
	model  string
	slots  chan struct{} // one for each request in flight
	// dimensions of the first response; 0 before it.
	dimensions atomic.Int64
	// tokens has the tokens that the provider has counted, and uncounted the texts of responses
	// without a count.
	tokens, uncounted atomic.Int64
}

// newOpenAIEmbedder checks the configuration and makes no request. source is EmbedConfig.Source.
func newOpenAIEmbedder(c endpointConfig, model, source string) (*openAIEmbedder, error) {
	if model == "" {
		return nil, errors.New("an embedder needs the name of its model")
	}
	client, e, err := c.open("/embeddings")
	if err != nil {
		return nil, err
	}
	usual := OpenAIBaseURL
	if e.provider == ProviderOllama {
		usual = ollamaURL("")
	}
	name := e.provider + "/" + model
	base := cmp.Or(strings.TrimRight(source, "/"), strings.TrimSuffix(e.url, "/embeddings"))
	if base != usual {
		name += "@" + base // two servers may use one name for different models
	}
	return &openAIEmbedder{
		endpoint: e, client: client, name: name, model: model, slots: make(chan struct{}, embedsInFlight),
	}, nil
}

// Name is like "openai/text-embedding-3-small". If the base URL, or EmbedConfig.Source, is not the
// provider's default, it follows after an @.
func (e *openAIEmbedder) Name() string { return e.name }

// Embed starts no further batch once one has failed. It waits for the other batch in flight, which
// is paid for.
func (e *openAIEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, refused := make([][]float32, len(texts)), make([]error, len(texts))
	var failed atomic.Bool
	var group errgroup.Group
	group.SetLimit(embedsInFlight)
	for start, end := range batches(texts, maxEmbedTexts, maxEmbedBytes) {
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			err := e.resolve(ctx, texts[start:end], vectors[start:end], refused[start:end])
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return vectors, err
	}
	return vectors, refusedTexts(refused)
}

// embed clears vectors if it fails.
func (e *openAIEmbedder) embed(ctx context.Context, texts []string, vectors [][]float32) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = cutText(text)
	}
	request := openai.EmbeddingRequestStrings{
		Input: input, Model: openai.EmbeddingModel(e.model),
		EncodingFormat: openai.EmbeddingEncodingFormatFloat,
	}
	err := e.repeat(ctx, func() error {
		x := &exchange{keepBody: true}
		return e.attempt(ctx, x, e.model, func(ctx context.Context) error {
			if _, err := e.client.CreateEmbeddings(ctx, request); err != nil {
				return err
			}
			var answer embeddings
			if err := json.Unmarshal(x.body, &answer); err != nil {
				return err
			}
			e.count(answer.Usage, len(texts))
			if err := placeVectors(answer.Data, vectors); err != nil {
				return err
			}
			return e.checkDimensions(len(vectors[0]))
		})
	}, nil)
	if err != nil {
		clear(vectors)
	}
	return err
}

// embeddings is an answer, with only what is used, like completion.
type embeddings struct {
	Data  []embedding     `json:"data"`
	Usage json.RawMessage `json:"usage"`
}

type embedding struct {
	Index     position  `json:"index"`
	Embedding []float32 `json:"embedding"`
}

// position is an index, which some servers write as a text; -1 for what is no index.
type position int

// UnmarshalJSON returns no error.
func (p *position) UnmarshalJSON(data []byte) error {
	n, ok := parseTokens(bytes.Trim(data, `"`))
	if !ok {
		n = -1
	}
	*p = position(n)
	return nil
}

// count counts the cost of a response, whether or not it can be used.
func (e *openAIEmbedder) count(usage json.RawMessage, texts int) {
	if n := inputTokens(usage); n > 0 {
		e.tokens.Add(int64(n))
	} else {
		e.uncounted.Add(int64(texts))
	}
}

// Tokens implements an optional method of Embedder.
func (e *openAIEmbedder) Tokens() (tokens, uncounted int64) {
	return e.tokens.Load(), e.uncounted.Load()
}

// checkDimensions returns an error if the vectors have another length than earlier ones.
func (e *openAIEmbedder) checkDimensions(n int) error {
	if e.dimensions.CompareAndSwap(0, int64(n)) {
		return nil
	}
	if had := e.dimensions.Load(); had != int64(n) {
		return fmt.Errorf("the vectors have %d dimensions, earlier ones %d: "+
			"another model runs under this name, so restart the daemon", n, had)
	}
	return nil
}

// placeVectors puts each vector at its index, because providers may return them in any order. It
// rejects a response that does not have exactly one valid vector for each text.
func placeVectors(answer []embedding, vectors [][]float32) error {
	if len(answer) != len(vectors) {
		return fmt.Errorf("the answer has %d vectors for %d texts", len(answer), len(vectors))
	}
	clear(vectors)
	for _, a := range answer {
		at := int(a.Index)
		switch {
		case at < 0 || at >= len(vectors):
			return fmt.Errorf("the answer has a vector of index %d for %d texts", at, len(vectors))
		case vectors[at] != nil:
			return fmt.Errorf("the answer has two vectors of index %d", at)
		case len(a.Embedding) != len(answer[0].Embedding):
			return fmt.Errorf("the answer has vectors of %d and of %d dimensions",
				len(answer[0].Embedding), len(a.Embedding))
		}
		if err := checkVector(a.Embedding); err != nil {
			return fmt.Errorf("the vector of index %d %w", at, err)
		}
		vectors[at] = a.Embedding
	}
	return nil
}

// checkVector rejects a vector that has no direction.
func checkVector(v []float32) error {
	if len(v) == 0 {
		return errors.New("is empty")
	}
	if !slices.ContainsFunc(v, func(x float32) bool { return x != 0 }) {
		return errors.New("is all zeros")
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return errors.New("is not finite")
		}
	}
	return nil
}
