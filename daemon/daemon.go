// Package daemon is the reference memory service: brains stored on disk, in git or
// in memory, and served over HTTP. New assembles its parts.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/fetch"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/memory"
	"evalctl/daemon/store/gitremote"
	"evalctl/internal/llm"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	// drainTimeout is how long requests may continue after the context of Serve ends. Streams are
	// ended at once.
	drainTimeout = 3 * time.Second
)

// Config configures a Daemon. Reader and ReaderModel are required, because there is no default
// model.
type Config struct {
	// Home is the directory of all data, which is created if missing. It must be empty with
	// StoreMemory and with a database.
	Home string
	// Store is the storage engine for documents: one of the Store constants, or the URL of a
	// PostgreSQL database, which any number of daemons share. Empty means StoreFS with a Home and
	// StoreMemory without one. StoreMemory or a URL with a Home is an error, because nothing would be
	// stored there.
	Store string
	// Git configures StoreGit.
	Git GitConfig
	// Reader answers questions, running ReaderModel.
	Reader      llm.Provider
	ReaderModel string
	// DrainDelay is how long Serve goes on as before after its context has ended, except that
	// /healthz reports that the daemon is not ready. It gives load balancers time to notice.
	DrainDelay time.Duration
	// AllowPrivateFetch permits clients to ingest pages of every address that the daemon can reach,
	// instead of only public ones.
	AllowPrivateFetch bool
	brain.IndexConfig
	httpapi.Options
	// Logger receives one line per request, and events outside of requests. Nil discards both.
	Logger *slog.Logger
}

// Daemon is a memory service. It is safe for concurrent use.
type Daemon struct {
	brains   *brain.Service
	memories *memory.Service
	api      *httpapi.API
	remote   *gitremote.Remote // nil: none
	logger   *slog.Logger
	// headerTimeout is how long a client may take to send a request's header.
	headerTimeout time.Duration
	drained       func() // waits for Config.DrainDelay

	stopTakeOver context.CancelFunc
	takingOver   sync.WaitGroup
}

// New opens the brains below cfg.Home. The caller must Close the daemon, unless it
// calls Serve, which closes it.
func New(ctx context.Context, cfg Config) (*Daemon, error) {
	d, err := open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open daemon: %w", err)
	}
	return d, nil
}

func open(ctx context.Context, cfg Config) (*Daemon, error) {
	logger := cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	memories, err := memory.New(memory.Config{
		Reader: cfg.Reader, Model: cfg.ReaderModel, Logger: logger,
		Fetcher: fetch.New(fetch.Options{AllowPrivate: cfg.AllowPrivateFetch}),
	})
	if err != nil {
		return nil, err
	}
	remote := newRemote(cfg.Git, logger)
	config, err := storage(ctx, cfg, remote, logger)
	if err != nil {
		return nil, err
	}
	config.IndexConfig, config.Logger = cfg.IndexConfig, logger
	brains, err := brain.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	apiConfig := httpapi.Config{Brains: brains, Memory: memories, Options: cfg.Options, Logger: logger}
	if catalog, ok := config.Catalog.(*pgcatalog.Catalog); ok {
		apiConfig.PingDatabase, apiConfig.Metrics = catalog.Ping, catalog.Metrics()
	}
	if remote != nil {
		if err := checkRemote(ctx, remote, brains, logger); err != nil {
			return nil, errors.Join(err, brains.Close())
		}
		apiConfig.Metrics = remote.Metrics()
	}
	apiConfig.Metrics = append(apiConfig.Metrics, embedMetrics(cfg.Search.Embedder)...)
	api := httpapi.New(apiConfig)
	tools, err := toolsOf(api, cfg.Version, logger)
	if err != nil {
		return nil, errors.Join(err, brains.Close())
	}
	api.HandleMCP(tools)
	d := &Daemon{
		brains: brains, memories: memories, api: api, remote: remote, logger: logger, headerTimeout: headerTimeout,
		drained: func() { time.Sleep(cfg.DrainDelay) },
	}
	background, stop := context.WithCancel(context.Background())
	d.stopTakeOver = stop
	d.takingOver.Go(func() { brains.TakeOver(background, memories.TakeOver) })
	return d, nil
}

// Handler returns the daemon's API, for use in the caller's own server.
func (d *Daemon) Handler() http.Handler { return d.api }

// Close ends background jobs, which the next daemon continues, pushes to the git remote, and closes
// every brain. Further calls do nothing.
func (d *Daemon) Close() error {
	if d.remote != nil {
		d.remote.Interrupt() // jobs may wait for a brain that is being opened
	}
	d.stopTakeOver()
	d.takingOver.Wait()
	d.memories.Close()
	if d.remote != nil {
		d.remote.Close()
	}
	return d.brains.Close()
}

// Serve answers requests on ln, which it closes, until ctx ends. Then it waits for
// Config.DrainDelay, stops accepting connections, ends open streams at once with an error event,
// gives other requests 3 s to finish, and closes the daemon. It returns nil if ctx stopped it and
// no request was cut off.
func (d *Daemon) Serve(ctx context.Context, ln net.Listener) error {
	fresh := &freshConns{conns: map[net.Conn]struct{}{}}
	srv := &http.Server{
		ConnState:         fresh.track,
		ReadHeaderTimeout: d.headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(d.logger.Handler(), slog.LevelWarn),
		// The API answers OPTIONS * with a Problem, not net/http with an empty 200.
		DisableGeneralOptionsHandler: true,
		// No WriteTimeout: it would end streams. They limit each frame instead.
	}
	served := make(chan error, 1)
	go func() { served <- d.api.Serve(srv, ln) }()
	select {
	case err := <-served:
		return errors.Join(fmt.Errorf("serve on %s: %w", ln.Addr(), err), d.Close())
	case <-ctx.Done():
	}
	d.api.Drain()
	d.drained()
	d.api.Stop()
	fresh.close()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests still open after %v were cut off", drainTimeout), srv.Close())
	}
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return errors.Join(err, d.Close())
}
