package httpapi

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts requests. Labels are route patterns, known methods and statuses, so clients cannot
// create further ones.
type metrics struct {
	openStreams atomic.Int64
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	searches    *prometheus.CounterVec
}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evalctl_http_requests_total",
			Help: "Requests by route pattern, method and status.",
		}, []string{"route", "method", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "evalctl_http_request_duration_seconds",
			Help: "Time from a request's header to the end of its response.",
			// The last ones are for answers of a model.
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method"}),
		searches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evalctl_searches_total",
			Help: "Retrievals of search and ask by the mode that ran, and whether that was a lower one " +
				"than requested.",
		}, []string{"mode", "degraded"}),
	}
}

// searched counts one successful retrieval.
func (m *metrics) searched(mode, degraded string) {
	m.searches.WithLabelValues(mode, strconv.FormatBool(degraded != "")).Inc()
}

// observe counts one request after its response.
func (m *metrics) observe(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(route, method).Observe(took.Seconds())
}

func labelsOf(r *http.Request) (route, method string) {
	route = r.Pattern
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	route = cmp.Or(route, "none")
	switch r.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return route, r.Method
	}
	return route, "other"
}

// countTimeout limits how long a scrape waits for the database.
const countTimeout = time.Second

// serveMetrics responds with all metrics.
func (a *API) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		a.metrics.requests, a.metrics.durations, a.metrics.searches, collectors.NewGoCollector(),
		gauge("evalctl_brains", "Brains that exist.",
			func() float64 {
				ctx, cancel := context.WithTimeout(r.Context(), countTimeout)
				defer cancel()
				n, err := a.brains.Count(ctx)
				if err != nil {
					return math.NaN()
				}
				return float64(n)
			}),
		gauge("evalctl_open_streams", "Event streams being sent: asks and change streams.",
			func() float64 { return float64(a.metrics.openStreams.Load()) }),
		gauge("evalctl_index_bytes", "Approximate memory of the loaded search indexes, in bytes.",
			func() float64 { return float64(a.brains.IndexBytes()) }),
		gauge("evalctl_refused_connections", "Connections that wait for a 503 overloaded, or had one and no request since.",
			func() float64 { return float64(a.lobby.count()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "evalctl_slow_event_clients_dropped_total",
			Help: "Clients of change streams that were disconnected because they did not keep up.",
		}, func() float64 { return float64(a.slowClients.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "evalctl_refused_passages_total",
			Help: "Passages that the embedder rejected: only their words are searched.",
		}, func() float64 { return float64(a.brains.RefusedPassages()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "evalctl_unusable_snapshots_total",
			Help: "Snapshots of indexes that could not be read in time, or not used: the indexes were built from their documents.",
		}, func() float64 { return float64(a.brains.UnusableSnapshots()) }),
	)
	registry.MustRegister(a.gateMetrics()...)
	registry.MustRegister(a.moreMetrics...)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return nil
}
