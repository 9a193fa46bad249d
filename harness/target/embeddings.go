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

// maxMetrics is how much of a daemon's metrics is read.
const maxMetrics = 4 << 20

// Embeddings is what the metrics of a daemon say of its embedding model since it was started.
type Embeddings struct {
	Provider, Model  string
	Embedded, Cached int64 // texts
	Tokens           int64
	Uncounted        int64 // texts whose tokens the provider did not count
}

// The metrics of which Embeddings consists.
const (
	embeddedTexts   = "evalctl_embedded_texts_total"
	embeddingTokens = "evalctl_embedding_tokens_total"
	uncountedTexts  = "evalctl_embedding_uncounted_texts_total"
)

// Embeddings reads the metrics of the daemon. ok is false if they cannot be read or say nothing of
// embeddings, as those of most daemons.
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

// count returns the value of a counter, a negative number for one that cannot be.
func count(m *dto.Metric) int64 {
	if v := m.GetCounter().GetValue(); v >= 0 && v <= decimal.Most {
		return int64(v)
	}
	return -1
}

// Since returns what was counted after another reading of the same process. ok is false if a
// counter has fallen: the process was restarted in between, and what it had counted is not known.
func (e Embeddings) Since(before Embeddings) (_ Embeddings, ok bool) {
	e.Embedded -= before.Embedded
	e.Cached -= before.Cached
	e.Tokens -= before.Tokens
	e.Uncounted -= before.Uncounted
	return e, min(e.Embedded, e.Cached, e.Tokens, e.Uncounted) >= 0
}

// Plus returns the sum of two.
func (e Embeddings) Plus(more Embeddings) Embeddings {
	e.Embedded += more.Embedded
	e.Cached += more.Cached
	e.Tokens += more.Tokens
	e.Uncounted += more.Uncounted
	return e
}
