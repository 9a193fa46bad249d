package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Reranker scores texts for a query. Implementations are safe for concurrent
// use.
type Reranker interface {
	// Name identifies the model and where it runs.
	Name() string
	// Rerank returns one finite score for each text, in order: higher is
	// better. Scores of one call can be compared with each other only. Errors
	// are *Error when the call reached for a provider and failed; a context's
	// end is returned as it is.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// The providers that OpenReranker knows, as in SVC_RERANK_PROVIDER.
const (
	RerankHTTP = "http" // httpReranker
	RerankLLM  = "llm"  // modelReranker
)

// RerankConfig chooses a reranker. The caller reads it from flags and
// environment.
type RerankConfig struct {
	// Provider is RerankHTTP or RerankLLM.
	Provider string
	// Model is optional for RerankHTTP, see httpReranker. For RerankLLM, which
	// asks LLM, empty means LLM's.
	Model string
	// BaseURL and APIKey are RerankHTTP's; the key is optional.
	BaseURL, APIKey string
	// LLM is the model provider that RerankLLM asks.
	LLM Config
}

// OpenReranker makes the reranker that the configuration names. It makes no
// request.
func OpenReranker(c RerankConfig) (Reranker, error) {
	switch c.Provider {
	case RerankHTTP:
		if c.BaseURL == "" {
			return nil, errors.New("no endpoint to rerank at: set SVC_RERANK_BASE_URL, such as http://localhost:8080")
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

// placedScore is a score with the text that it is of.
type placedScore struct {
	index int
	score float64
}

// placeScores puts each score where its index says and refuses an answer that
// is not one finite score for each of n texts.
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
