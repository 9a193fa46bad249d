// Package daemon is the reference memory service: brains kept on disk, in git or
// in memory, served over HTTP. New puts the parts together.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/memory"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	// drainTimeout is how long requests may go on once Serve is told to stop.
	// Streams do not need it: they are ended at once.
	drainTimeout = 3 * time.Second
)

// Config of a daemon. Reader and ReaderModel are required: which model reads
// is the caller's decision, never a default.
type Config struct {
	// Home is the directory that keeps everything; it is created when missing.
	// Store memory does not use it.
	Home string
	// Store is the engine that keeps documents, one of the Store constants. Empty
	// means StoreFS with a Home and StoreMemory without. StoreMemory
	// refuses a Home, since it would keep nothing there.
	Store string
	// Reader answers questions, running ReaderModel.
	Reader      llm.Provider
	ReaderModel string
	// Search says who embeds and reranks; the zero value ranks by BM25 only.
	Search search.Config
	// ChunkSize is the largest size of a passage in bytes, see brain.Config.
	ChunkSize int
	// IndexMemory is how much memory the search indexes of idle brains may take
	// together, in bytes; 0 means brain.DefaultIndexMemory. An index that was
	// dropped is back with the next search.
	IndexMemory int64
	// Keys are who may use the daemon. Nil lets everybody use everything, so the
	// listener must then be out of others' reach.
	Keys *httpapi.Keys
	// Host is the name that the listener was asked for, if it was a name. Without
	// Keys, requests for other names are refused, save for localhost: a web page
	// can make its own name resolve to the daemon.
	Host string
	// PingInterval is the pause between the pings of a change stream; 0 means
	// 25 s (spec 8).
	PingInterval time.Duration
	// Version is told by /healthz.
	Version string
	// Logger gets one line a request, and what happens behind the requests.
	// Nil discards both.
	Logger *slog.Logger
}

// Daemon is a memory service. It is safe for concurrent use.
type Daemon struct {
	brains *brain.Service
	api    *httpapi.API
	logger *slog.Logger
	// headerTimeout is how long a client may take to send a request's head.
	headerTimeout time.Duration
}

// New opens the brains below cfg.Home. The caller must Close the daemon, unless
// he calls Serve, which does.
func New(_ context.Context, cfg Config) (*Daemon, error) {
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	memories, err := memory.New(memory.Config{Reader: cfg.Reader, Model: cfg.ReaderModel})
	if err != nil {
		return nil, fmt.Errorf("open daemon: %w", err)
	}
	dir, open, err := engine(cfg, logger)
	if err != nil {
		return nil, fmt.Errorf("open daemon: %w", err)
	}
	brains, err := brain.Open(brain.Config{
		Dir: dir, OpenStore: open, Search: cfg.Search,
		ChunkSize: cfg.ChunkSize, IndexMemory: cfg.IndexMemory, OpenStores: maxOpenStores(), Logger: logger,
	})
	if err != nil {
		return nil, fmt.Errorf("open daemon: %w", err)
	}
	api := httpapi.New(httpapi.Config{Brains: brains, Memory: memories, Keys: cfg.Keys, Host: cfg.Host, PingInterval: cfg.PingInterval, Version: cfg.Version, Logger: logger})
	return &Daemon{brains: brains, api: api, logger: logger, headerTimeout: headerTimeout}, nil
}

// Handler serves the daemon's API on a server of the caller's.
func (d *Daemon) Handler() http.Handler { return d.api }

// Close closes every brain. Further calls do nothing.
func (d *Daemon) Close() error { return d.brains.Close() }

// Serve answers requests on ln, which it closes, until ctx ends. Then it stops
// accepting, ends open streams at once with an error event, gives other
// requests 3 s to finish, and closes the daemon. It returns nil when it was
// stopped by ctx and nothing was lost.
func (d *Daemon) Serve(ctx context.Context, ln net.Listener) error {
	fresh := &freshConns{conns: map[net.Conn]struct{}{}}
	srv := &http.Server{
		Handler:           d.api,
		ConnState:         fresh.track,
		ReadHeaderTimeout: d.headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(d.logger.Handler(), slog.LevelWarn),
		// No WriteTimeout: it would cut streams. They bound each frame instead.
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve on %s: %w", ln.Addr(), err), d.Close())
	case <-ctx.Done():
	}
	d.api.Stop()
	fresh.close()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests still open after %v were cut", drainTimeout), srv.Close())
	}
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return errors.Join(err, d.Close())
}
