// Package gateway is an OpenAI-compatible server between a daemon and the provider of its models.
// It keeps the daemon's spending under the cap of a ledger, and can answer from a cache.
//
// A started daemon receives the gateway's URL and key instead of the provider's, so it never has
// the real key. The gateway listens on the loopback interface only, and rejects callers without its
// random key. It does not retry: statuses such as 429 reach the daemon with their Retry-After.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/httpclient"
	"evalctl/internal/llm"
)

// Config configures a gateway. Cache may be nil; Fresh, Model and Embedding may be zero; all other
// fields are required.
type Config struct {
	// Upstream is the provider. Its Model is not used.
	Upstream llm.Config
	Ledger   ledger.Books
	Prices   llm.Prices
	Cache    *llm.Cache
	// Fresh is set if the daemon could not use its last replies for ledger.Ingest: in this phase,
	// stored replies are replaced by new ones.
	Fresh bool
	// Model and Embedding are the default models of completions and embeddings. If empty, requests
	// without a model are refused.
	Model, Embedding string
	// Arm is the paying arm of the replay.
	Arm string
	// Phase returns the current phase of completions. Embeddings always have the phase Embed. It
	// must be safe for concurrent use.
	Phase func() ledger.Phase
	Log   *slog.Logger
}

// Gateway is a running gateway.
type Gateway struct {
	config   Config
	upstream string
	secret   string // the provider's key
	key      string // the gateway's own
	addr     string
	client   *http.Client
	server   *http.Server
	cancel   context.CancelFunc
	served   chan struct{} // closed when the server has ended
	replies  replies
	requests requests

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
	dearest map[ledger.Phase]llm.USD // worst cases of completions
	err     error
	failed  chan struct{}
}

// Start starts a gateway on a free port of 127.0.0.1. It sends nothing to the provider.
func Start(c Config) (*Gateway, error) {
	base, secret, err := c.Upstream.Endpoint()
	if err != nil {
		return nil, fmt.Errorf("gateway to the models: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return nil, fmt.Errorf("gateway to the models: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gateway{
		config: c, upstream: base, secret: secret, key: "evalctl-" + rand.Text(), addr: listener.Addr().String(),
		client: &http.Client{Transport: transport, CheckRedirect: httpclient.NoRedirect},
		cancel: cancel, served: make(chan struct{}), replies: replies{got: map[llm.CacheKey]int{}}, failed: make(chan struct{}),
		requests: requests{refused: map[result.RefusedRequests]int{}}, dearest: map[ledger.Phase]llm.USD{},
	}
	g.server = &http.Server{
		Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(c.Log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(g.served)
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			g.fail(fmt.Errorf("gateway to the models: %w", err))
		}
	}()
	return g, nil
}

// URL returns the base URL for the daemon, such as "http://127.0.0.1:40123/v1".
func (g *Gateway) URL() string { return "http://" + g.addr + "/v1" }

// Key returns the key that callers must send as a bearer token. It is valid only for this gateway.
func (g *Gateway) Key() string { return g.key }

// Failed returns a channel that is closed once a request was rejected with an Err. The run cannot
// continue then.
func (g *Gateway) Failed() <-chan struct{} { return g.failed }

// Err returns why a request was rejected, or nil. It wraps llm.ErrBudgetExceeded if the cap does
// not allow the request, and llm.ErrNotCached if the cache has no reply and nothing may be sent.
// Other reasons are a model without a known price, a request of unbounded cost, and a ledger that
// cannot be written.
func (g *Gateway) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *Gateway) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
		close(g.failed)
		g.config.Log.Warn("the gateway rejects the daemon's requests to its models", "arm", g.config.Arm, "cause", err)
	}
}

// note remembers the worst case of a paid completion.
func (g *Gateway) note(phase ledger.Phase, worst llm.USD) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dearest[phase] = max(g.dearest[phase], worst)
}

// paid reports whether there was a paid completion.
func (g *Gateway) paid() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.dearest) > 0
}

func (g *Gateway) dearestOf(phase ledger.Phase) llm.USD {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dearest[phase]
}

// Close stops the gateway. It cancels and settles requests in progress before it returns, so that
// the ledger can be closed next. It may be called more than once.
func (g *Gateway) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	err := g.server.Close()
	g.running.Wait()
	<-g.served
	g.client.CloseIdleConnections()
	return err
}

// enter reports whether a request may begin. The request must end with running.Done.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}
