// Package httpapi serves brains over HTTP: the path-addressed document
// endpoints (spec 4.2), search, and ask as an event stream (spec 6.3). Every
// answer outside 2xx is a Problem body.
package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
)

// Config of an API. Brains and Memory are required.
type Config struct {
	Brains *brain.Service
	Memory *memory.Service
	Options
	// Logger receives one line per request. Nil discards them.
	Logger *slog.Logger
}

// Options are what the operator of a daemon decides about its API.
type Options struct {
	// Keys are the keys that may use the API. Nil allows everything to every client, so
	// the listener must then be unreachable for others.
	Keys *Keys
	// Host is the host name of the listener, if it was given as a name. Without Keys,
	// requests for names other than this one and localhost are refused: a web page can
	// make its own name resolve to the daemon.
	Host string
	// Version is reported by /healthz.
	Version string
	// PingInterval is the time between two ping events of a change stream; 0 means
	// 25 s (spec 8).
	PingInterval time.Duration
}

// API is the http.Handler of a daemon.
type API struct {
	brains      *brain.Service
	memory      *memory.Service
	keys        *Keys
	host        string
	metrics     *metrics
	version     string
	logger      *slog.Logger
	mux         *http.ServeMux
	crossOrigin *http.CrossOriginProtection
	stopping    chan struct{}
	stop        func()
	feeds       feeds
	slowClients atomic.Uint64
	ping        time.Duration
}

// New makes the handler for a set of brains, which it does not close.
func New(cfg Config) *API {
	a := &API{
		brains:      cfg.Brains,
		memory:      cfg.Memory,
		keys:        cfg.Keys,
		host:        cfg.Host,
		metrics:     newMetrics(),
		version:     cfg.Version,
		logger:      cfg.Logger,
		mux:         http.NewServeMux(),
		crossOrigin: http.NewCrossOriginProtection(),
		stopping:    make(chan struct{}),
		feeds:       feeds{brain: map[brain.Handle]*feed{}},
		ping:        cmp.Or(cfg.PingInterval, defaultPing),
	}
	a.stop = sync.OnceFunc(func() {
		close(a.stopping)
		a.feeds.endAll(errShuttingDown)
	})
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	for pattern, serve := range a.routes() {
		a.mux.Handle(pattern, answer(a.guard(pattern, serve)))
	}
	return a
}

// Stop ends open streams, those of ask with an error event, and makes /healthz say that the
// daemon is not ready. Other requests are still served. Further calls do
// nothing.
func (a *API) Stop() { a.stop() }

// SlowClients counts the clients of change streams that were disconnected
// because they did not keep up.
func (a *API) SlowClients() uint64 { return a.slowClients.Load() }

func (a *API) stopped() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// endpoint serves one route. A returned error becomes a Problem, unless the
// answer has begun.
type endpoint func(w http.ResponseWriter, r *http.Request) error

func (a *API) routes() map[string]endpoint {
	const brains, one = "/v1/brains", "/v1/brains/{id}"
	return map[string]endpoint{
		"GET /healthz":      a.healthz,
		"GET /openapi.json": a.openapi,
		"GET /metrics":      a.serveMetrics,

		"POST " + brains: a.createBrain,
		"GET " + brains:  a.listBrains,
		"GET " + one:     a.getBrain,
		"DELETE " + one:  a.deleteBrain,

		"GET " + one + "/documents/read":       a.readDocument,
		"GET " + one + "/documents/stat":       a.statDocument,
		"HEAD " + one + "/documents":           a.headDocument,
		"GET " + one + "/documents":            a.listDocuments,
		"PUT " + one + "/documents":            a.writeDocument,
		"POST " + one + "/documents":           a.createRecord,
		"DELETE " + one + "/documents":         a.deleteDocument,
		"POST " + one + "/documents/append":    a.appendDocument,
		"POST " + one + "/documents/rename":    a.renameDocument,
		"POST " + one + "/documents/batch-ops": a.batchDocuments,

		"GET " + one + "/documents/{document_id}":    a.getRecord,
		"DELETE " + one + "/documents/{document_id}": a.deleteRecord,

		"GET " + one + "/events": a.watchBrain,

		"POST " + one + "/search": a.search,
		"GET " + one + "/search":  a.searchByQuery,
		"POST " + one + "/ask":    a.ask,
	}
}

func noStore(serve endpoint) endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		return serve(w, r)
	}
}

// answer makes a handler whose errors are Problems.
func answer(serve endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		noDeadline(w)
		if err := serve(w, r); err != nil {
			fail(w, err)
		}
	}
}

// route finds the endpoint. The mux's own refusals are plain text and its
// redirects invite a client to repeat a PUT elsewhere: both become Problems.
func (a *API) route(w http.ResponseWriter, r *http.Request) {
	if err := a.checkHost(r); err != nil {
		fail(w, err)
		return
	}
	if err := a.crossOrigin.Check(r); err != nil {
		fail(w, refuse(errCrossOrigin, "%v: this daemon is not for web pages of other origins", err))
		return
	}
	escaped := r.URL.EscapedPath()
	if path.Clean(escaped) != escaped {
		fail(w, refuse(errNoRoute, "the path is not canonical: remove empty, . and .. segments and a trailing slash"))
		return
	}
	refusal, pattern := a.mux.Handler(r)
	if pattern != "" {
		a.mux.ServeHTTP(w, r)
		return
	}
	probe := &discardWriter{header: http.Header{}}
	refusal.ServeHTTP(probe, r)
	if allow := probe.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
		fail(w, refuse(errMethod, "use one of %s", allow))
		return
	}
	fail(w, refuse(errNoRoute, "no endpoint has this path"))
}

// discardWriter keeps the headers of an answer and nothing else.
type discardWriter struct{ header http.Header }

func (d *discardWriter) Header() http.Header         { return d.header }
func (d *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (d *discardWriter) WriteHeader(int)             {}

func (a *API) healthz(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, protocol.Health{OK: true, Version: a.version, Ready: !a.stopped()})
}
