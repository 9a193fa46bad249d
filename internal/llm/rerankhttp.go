package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// TEI's default limit of one request.
	maxUnnamedTexts = 32
	maxNamedTexts   = 100
	maxRerankBytes  = 400_000
)

// httpReranker calls a /rerank endpoint. With a model it sends the fields that Jina, Cohere and
// compatible servers accept (model, query, documents, top_n), with at most 100 texts per request.
// Without one it sends the fields of Hugging Face's Text Embeddings Inference (TEI), which serves a
// single model (query, texts, truncate), with at most 32 texts. It reads the responses of all these
// servers. Texts are cut at maxModelText, and failed requests are retried as in openAIProvider. It
// is safe for concurrent use.
type httpReranker struct {
	endpoint
	model string
}

// newHTTPReranker checks the configuration and makes no request. BaseURL is required; "/rerank" is
// appended to it.
func newHTTPReranker(c endpointConfig, model string) (*httpReranker, error) {
	if c.Name == "" {
		c.Name = RerankHTTP
	}
	c.KeyVariable = cmp.Or(c.KeyVariable, "SVC_RERANK_API_KEY")
	e, err := newEndpoint(c, "/rerank")
	if err != nil {
		return nil, err
	}
	return &httpReranker{endpoint: e, model: model}, nil
}

// Name contains the model, if there is one, and the base URL.
func (h *httpReranker) Name() string {
	base := strings.TrimSuffix(h.url, "/rerank")
	if h.model == "" {
		return RerankHTTP + "@" + base
	}
	return RerankHTTP + "/" + h.model + "@" + base
}

// Rerank sends many texts in consecutive requests. A reranker scores each text by itself, so scores
// of several responses are comparable.
func (h *httpReranker) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	most := maxNamedTexts
	if h.model == "" {
		most = maxUnnamedTexts
	}
	return inBatches(texts, most, maxRerankBytes, func(part []string) ([]float64, error) { return h.rerank(ctx, query, part) })
}

func (h *httpReranker) rerank(ctx context.Context, query string, texts []string) (scores []float64, err error) {
	body, err := json.Marshal(h.request(query, texts))
	if err != nil {
		return nil, err
	}
	return scores, h.repeat(ctx, func() error {
		return h.attempt(ctx, &exchange{}, h.model, func(ctx context.Context) error {
			answer, err := h.post(ctx, body)
			if err == nil {
				scores, err = parseRerank(answer, len(texts))
			}
			return err
		})
	}, nil)
}

func (h *httpReranker) request(query string, texts []string) any {
	cut := make([]string, len(texts))
	for i, text := range texts {
		cut[i] = cutText(text)
	}
	if h.model == "" {
		return struct {
			Query    string   `json:"query"`
			Texts    []string `json:"texts"`
			Truncate bool     `json:"truncate"` // or texts beyond the model's length are rejected
		}{cutText(query), cut, true}
	}
	return struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
		TopN      int      `json:"top_n"`
	}{h.model, cutText(query), cut, len(cut)}
}

func (h *httpReranker) post(ctx context.Context, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if h.key != "" {
		req.Header.Set("Authorization", "Bearer "+h.key)
	}
	res, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body) // limited by the transport
}

// parseRerank parses {"results": [{"index", "relevance_score" or "score"}]} or the list alone.
func parseRerank(body []byte, n int) ([]float64, error) {
	type result struct {
		Index          *int
		RelevanceScore *float64 `json:"relevance_score"`
		Score          *float64
	}
	var results []result
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		if err := json.Unmarshal(body, &results); err != nil {
			return nil, err
		}
	} else {
		var object struct{ Results *[]result }
		if err := json.Unmarshal(body, &object); err != nil {
			return nil, err
		}
		if object.Results == nil {
			return nil, errors.New("the answer has no results")
		}
		results = *object.Results
	}
	answer := make([]placedScore, len(results))
	for i, r := range results {
		score := r.RelevanceScore
		if score == nil {
			score = r.Score
		}
		if r.Index == nil || score == nil {
			return nil, fmt.Errorf("result %d of the answer lacks its index or its score", i)
		}
		answer[i] = placedScore{*r.Index, *score}
	}
	return placeScores(answer, n)
}
