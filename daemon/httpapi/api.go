// Package httpapi serves brains over HTTP: documents by path and by id (spec 4.2), change events
// (spec 6.1), search, and ask as an event stream (spec 6.3). Every response outside 2xx has a
// Problem body.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/internal/admission"
)

// Config of an API. Brains and Memory are required.
type Config struct {
	Brains *brain.Service
	Memory *memory.Service
	Options
	// Logger receives one line per request. Nil discards them.
	Logger *slog.Logger
	// PingDatabase returns an error if the database of the brains does not answer. Nil: the brains
	// are not in a database.
	PingDatabase func(context.Context) error
	// Metrics are reported in addition to the API's own.
	Metrics []prometheus.Collector
}

// Options are the operator's settings of an API.
type Options struct {
	// Keys are the keys that may use the API. Nil allows everything to every client, so the
	// listener must then be unreachable for others.
	Keys *Keys
	// Host is the host name that the listener was configured with, if any. Without keys, requests
	// for host names other than this one and localhost are refused.
	Host string
	// AllowOrigins are the origins whose web pages may use the API, as ParseOrigin returns them.
	// Others may not.
	AllowOrigins []string
	// DefaultBrain is the id or slug of the brain of requests that name none (spec 1). A caller
	// that may not use this brain has no default. Empty means the oldest brain that the caller may
	// use.
	DefaultBrain string
	// Profiles serves profiles of the process below /debug/pprof, to keys with the scope admin.
	// They reveal names and arguments, so the listener must be unreachable from other machines.
	Profiles bool
	// Version is reported by /healthz.
	Version string
	// PingInterval is the time between two ping events of a change stream; 0 means
	// 25 s (spec 8).
	PingInterval time.Duration
}

// API is the http.Handler of a daemon. It is safe for concurrent use.
type API struct {
	brains      *brain.Service
	memory      *memory.Service
	keys        *Keys
	host        string
	defaultName string
	metrics     *metrics
	moreMetrics []prometheus.Collector
	refusals    refusalLog
	pace        *pace
	lobby       *lobby
	database    func(context.Context) error // pings it; nil: none
	version     string
	logger      *slog.Logger
	mux         *http.ServeMux
	crossOrigin *http.CrossOriginProtection
	origins     map[string]bool
	draining    atomic.Bool
	stopping    chan struct{}
	stop        func()
	feeds       feeds
	slowClients atomic.Uint64 // disconnected for not reading their change streams
	ping        time.Duration
	deadline    time.Duration // see operationTimeout
	mcp         http.Handler  // nil: no endpoint
	gates       map[kind]*admission.Gate
}

// New returns the handler of a set of brains, which it does not close.
func New(cfg Config) *API {
	a := &API{
		brains:      cfg.Brains,
		memory:      cfg.Memory,
		keys:        cfg.Keys,
		host:        cfg.Host,
		defaultName: cfg.DefaultBrain,
		metrics:     newMetrics(),
		moreMetrics: cfg.Metrics,
		database:    cfg.PingDatabase,
		version:     cfg.Version,
		logger:      cfg.Logger,
		mux:         http.NewServeMux(),
		crossOrigin: http.NewCrossOriginProtection(),
		origins:     map[string]bool{},
		stopping:    make(chan struct{}),
		feeds:       feeds{brain: map[brain.Handle]*feed{}},
		ping:        cmp.Or(cfg.PingInterval, defaultPing),
		deadline:    operationTimeout,
		gates:       newGates(runtime.GOMAXPROCS(0)),
	}
	for _, origin := range cfg.AllowOrigins {
		a.origins[origin] = true
		_ = a.crossOrigin.AddTrustedOrigin(origin) // ParseOrigin has checked it
	}
	a.pace = newPace(runtime.GOMAXPROCS(0))
	a.lobby = newLobby(a.pace, a.metrics)
	a.stop = sync.OnceFunc(func() {
		close(a.stopping)
		a.feeds.endAll(errShuttingDown)
	})
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	a.refusals.logger = a.logger
	for _, rt := range routes {
		a.handle(rt)
	}
	if cfg.Profiles {
		for _, rt := range profiles {
			a.handle(rt)
		}
	}
	return a
}

// Drain makes /healthz report that the daemon is not ready. All requests are still served.
func (a *API) Drain() { a.draining.Store(true) }

// Stop ends open streams, with an error event for streams of ask, and makes /healthz report that
// the daemon is not ready. Other requests are still served. Further calls do nothing.
func (a *API) Stop() { a.stop() }

func (a *API) stopped() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// pingTimeout limits how long /healthz waits for the database. Load balancers and service managers
// often allow one or two seconds.
const pingTimeout = 800 * time.Millisecond

// healthz responds with 200 as long as the daemon responds at all, so that a daemon is not
// restarted because its database is down. With the parameter ready it responds with 503 unless the
// daemon is ready, for load balancers that look only at the status.
func (a *API) healthz(w http.ResponseWriter, r *http.Request) error {
	health := protocol.Health{OK: true, Version: a.version, Ready: !a.stopped() && !a.draining.Load(), DamagedBrains: a.brains.Damaged()}
	if a.database != nil {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		health.Database = protocol.DatabaseOK
		if err := a.database(ctx); err != nil {
			health.Database, health.Ready = protocol.DatabaseUnavailable, false
		}
	}
	switch wanted := r.URL.Query().Has("ready"); {
	case wanted && (a.stopped() || a.draining.Load()):
		return errShuttingDown
	case wanted && !health.Ready:
		return store.Unavailable(nil, "the database does not answer")
	}
	return writeJSON(w, http.StatusOK, health)
}
