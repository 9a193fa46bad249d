package target

import (
	"context"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"evalctl/internal/decimal"
)

// maxMetrics limits how much of a daemon's metrics is read.
const maxMetrics = 4 << 20

// Embeddings are a daemon's counts for its embedding model since it started.
type Embeddings struct {
	Provider, Model  string
	Embedded, Cached int64 // texts
	Tokens           int64
	Uncounted        int64 // texts whose tokens the provider did not count
}

// The metrics behind Embeddings.
const (
	embeddedTexts   = "evalctl_embedded_texts_total"
	embeddingTokens = "evalctl_embedding_tokens_total"
	uncountedTexts  = "evalctl_embedding_uncounted_texts_total"
)

// Embeddings reads the daemon's metrics. ok is false if they cannot be read or have no embeddings,
// as for most daemons.
func (e *Endpoint) Embeddings(ctx context.Context) (found Embeddings, ok bool) {
	ctx, cancel := TimeLimit(ctx, CallTimeout)
	defer cancel()
	res, err := e.Do(ctx, Request{Method: http.MethodGet, Path: "/metrics", Accept: "text/plain"})
	if err != nil {
		return found, false
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(res.Body, maxMetrics))
	if err != nil {
		return found, false
	}
	for _, m := range families[embeddedTexts].GetMetric() {
		switch label(m, "from") {
		case "cache":
			found.Cached = count(m)
		case "model":
			found.Embedded = count(m)
		}
	}
	tokens := families[embeddingTokens].GetMetric()
	if len(tokens) != 1 { // of no model, or of several with different prices
		return Embeddings{}, false
	}
	found.Provider, found.Model = label(tokens[0], "provider"), label(tokens[0], "model")
	found.Tokens = count(tokens[0])
	for _, m := range families[uncountedTexts].GetMetric() {
		found.Uncounted = count(m)
	}
	return found, found.Model != "" && min(found.Embedded, found.Cached, found.Tokens, found.Uncounted) >= 0
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// count returns the value of a counter, negative if it is impossible.
func count(m *dto.Metric) int64 {
	if v := m.GetCounter().GetValue(); v >= 0 && v <= decimal.Most {
		return int64(v)
	}
	return -1
}

// Since returns the counts since an earlier reading of the same process. ok is false if a counter
// has fallen: the process was restarted, and its counts are lost.
func (e Embeddings) Since(before Embeddings) (_ Embeddings, ok bool) {
	e.Embedded -= before.Embedded
	e.Cached -= before.Cached
	e.Tokens -= before.Tokens
	e.Uncounted -= before.Uncounted
	return e, min(e.Embedded, e.Cached, e.Tokens, e.Uncounted) >= 0
}

// Plus returns the sum of e and more.
func (e Embeddings) Plus(more Embeddings) Embeddings {
	e.Embedded += more.Embedded
	e.Cached += more.Cached
	e.Tokens += more.Tokens
	e.Uncounted += more.Uncounted
	return e
}
