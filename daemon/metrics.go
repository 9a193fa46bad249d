package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"evalctl/internal/llm"
)

// embedMetrics returns the metrics of an embedder with a cache, none for others.
func embedMetrics(e llm.Embedder) []prometheus.Collector {
	cache, ok := e.(*llm.EmbedCache)
	if !ok {
		return nil
	}
	counter := func(name, help string, labels prometheus.Labels, value func(llm.EmbedStats) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, ConstLabels: labels, Help: help},
			func() float64 { return float64(value(cache.Stats())) })
	}
	texts := func(from string, value func(llm.EmbedStats) int64) prometheus.Collector {
		return counter("evalctl_embedded_texts_total",
			"Texts whose vectors were needed, from a cache or from the model.",
			prometheus.Labels{"from": from}, value)
	}
	provider, model := cache.Model()
	return []prometheus.Collector{
		texts("cache", func(s llm.EmbedStats) int64 { return s.Cached }),
		texts("model", func(s llm.EmbedStats) int64 { return s.Embedded }),
		counter("evalctl_embedding_tokens_total", "Tokens that the provider of the embedding model has counted.",
			prometheus.Labels{"provider": provider, "model": model}, func(s llm.EmbedStats) int64 { return s.Tokens }),
		counter("evalctl_embedding_uncounted_texts_total",
			"Texts of responses in which the provider of the embedding model counted no tokens.",
			nil, func(s llm.EmbedStats) int64 { return s.Uncounted }),
	}
}
