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
	counter := func(from string, value func(llm.EmbedStats) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "evalctl_embedded_texts_total", ConstLabels: prometheus.Labels{"from": from},
			Help: "Texts whose vectors were needed: those that a cache had, and those that the model embedded.",
		}, func() float64 { return float64(value(cache.Stats())) })
	}
	return []prometheus.Collector{
		counter("cache", func(s llm.EmbedStats) int64 { return s.Cached }),
		counter("model", func(s llm.EmbedStats) int64 { return s.Embedded }),
	}
}
