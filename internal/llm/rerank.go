package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Reranker scores texts for a query. Implementations are safe for concurrent use.
type Reranker interface {
	// Name identifies the model and where it runs.
	Name() string
	// Rerank returns one finite score for each text, in order; higher is better. Only scores of the
	// same call are comparable. An error is an *Error if the request was sent to a provider and
	// failed, or the context's error as it is.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// The providers that OpenReranker accepts, as in SVC_RERANK_PROVIDER.
const (
	RerankHTTP = "http" // a /rerank endpoint
	RerankLLM  = "llm"  // a language model that rates the texts
)

// RerankConfig selects a reranker. The caller fills it from flags and the environment.
type RerankConfig struct {
	// Provider is RerankHTTP or RerankLLM.
	Provider string
	// Model is optional for RerankHTTP: an endpoint that serves one model, such as Hugging Face's
	// Text Embeddings Inference, takes none. For RerankLLM, empty means LLM's.
	Model string
	// BaseURL and APIKey are for RerankHTTP. The key is optional.
	BaseURL, APIKey string
	// LLM is the model provider of RerankLLM.
	LLM Config
}

// OpenReranker returns the reranker that the configuration names. It makes no request.
func OpenReranker(c RerankConfig) (Reranker, error) {
	switch c.Provider {
	case RerankHTTP:
		if c.BaseURL == "" {
			return nil, errors.New("no rerank endpoint: set SVC_RERANK_BASE_URL, such as http://localhost:8080")
		}
		return newHTTPReranker(endpointConfig{BaseURL: c.BaseURL, APIKey: c.APIKey}, c.Model)
	case RerankLLM:
		if c.Model != "" {
			c.LLM.Model = c.Model
		}
		p, err := Open(c.LLM)
		if err != nil {
			return nil, fmt.Errorf("reranker: %w", err)
		}
		return newModelReranker(p, c.LLM.Model), nil
	case "":
		return nil, errors.New("no reranker: set SVC_RERANK_PROVIDER to http or llm")
	}
	return nil, fmt.Errorf("unknown reranker %s: set SVC_RERANK_PROVIDER to http or llm", quote(c.Provider))
}

// inBatches scores texts in consecutive batches of at most count texts and size bytes.
func inBatches(texts []string, count, size int, score func(part []string) ([]float64, error)) ([]float64, error) {
	var scores []float64
	for start, end := range batches(texts, count, size) {
		got, err := score(texts[start:end])
		if err != nil {
			return nil, err
		}
		scores = append(scores, got...)
	}
	return scores, nil
}

// placedScore is a score and the index of its text.
type placedScore struct {
	index int
	score float64
}

// placeScores puts each score at its index. It rejects a response that does not have exactly one
// finite score for each of n texts.
func placeScores(answer []placedScore, n int) ([]float64, error) {
	if len(answer) != n {
		return nil, fmt.Errorf("the answer has %d scores for %d texts", len(answer), n)
	}
	scores, placed := make([]float64, n), make([]bool, n)
	for _, a := range answer {
		switch {
		case a.index < 0 || a.index >= n:
			return nil, fmt.Errorf("the answer has a score of index %d for %d texts", a.index, n)
		case placed[a.index]:
			return nil, fmt.Errorf("the answer has two scores of index %d", a.index)
		case math.IsNaN(a.score) || math.IsInf(a.score, 0):
			return nil, fmt.Errorf("the score of index %d is not finite", a.index)
		}
		scores[a.index], placed[a.index] = a.score, true
	}
	return scores, nil
}
