package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/brain"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/store/gitremote"
	"evalctl/internal/heap"
)

type serveCmd struct {
	Addr     string        `env:"SVC_ADDR" default:"127.0.0.1:8787" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free one (${default})."`
	Home     string        `env:"SVC_HOME" placeholder:"DIR" help:"Folder for brains. Without it, all data is kept in memory and lost on exit."`
	Keys     string        `placeholder:"FILE" help:"Keys file, see evalctl keys; changes apply within seconds. Without it, requests need no token and may do everything."`
	Default  string        `name:"default-brain" env:"SVC_MCP_DEFAULT_BRAIN" placeholder:"BRAIN" help:"Id or slug of the brain of requests that name none. Default: the oldest brain that the key permits."`
	Insecure bool          `help:"Allow listening beyond loopback without --keys."`
	Ping     time.Duration `name:"ping-interval" default:"25s" help:"Interval between pings on change streams (${default})."`
	Drain    time.Duration `name:"drain-delay" default:"0s" help:"How long to go on after SIGTERM, reported as not ready by /healthz, so that load balancers notice (${default})."`
	gitFlags
	daemonFlags
}

func (serveCmd) Help() string {
	return `Prints "evalctl: listening on URL" to stdout once it accepts connections, and logs to stderr.

Servers and API keys of model providers:

  openai         OPENAI_BASE_URL, OPENAI_API_KEY
  ollama         OLLAMA_HOST
  embeddings     SVC_EMBED_BASE_URL, SVC_EMBED_API_KEY (default: as above)
  http reranker  SVC_RERANK_BASE_URL, SVC_RERANK_API_KEY

OPENAI_API_KEY is sent only to the server of OPENAI_BASE_URL.

Examples:

  evalctl serve --home ./brains
  evalctl serve --home ./brains --store git
  evalctl serve --home ./brains --store git --sign-key ~/.ssh/id_ed25519
  evalctl serve --home ./brains --store git --git-remote git@example.com:brains/{brain}.git
  evalctl serve --store postgres://evalctl@db.example.com/evalctl?sslmode=verify-full
  evalctl serve --home ./brains --embed-provider ollama --embed-model nomic-embed-text
  evalctl serve --addr 127.0.0.1:0 --embed-provider fake
  evalctl serve --addr 0.0.0.0:8787 --home ./brains --keys keys.yaml
`
}

// Run serves until ctx is canceled.
func (c *serveCmd) Run(ctx context.Context, p *process) error {
	defer heap.HoldSpare()()
	if c.Ping <= 0 {
		return usageError{fmt.Errorf("--ping-interval %v: must be above 0", c.Ping)}
	}
	if c.Drain < 0 {
		return usageError{fmt.Errorf("--drain-delay %v: must not be negative", c.Drain)}
	}
	if c.Default != "" && !brain.ValidID(c.Default) {
		return usageError{fmt.Errorf("--default-brain %q: must be the id or slug of a brain: a-z, 0-9 and -", c.Default)}
	}
	config, cache, err := c.daemonFlags.config(p, c.Home, slog.LevelInfo)
	if err != nil {
		return usageError{err}
	}
	defer cache.Close()
	if err := c.gitFlags.config(ctx, p, c.Keys != "", &config); err != nil {
		return usageError{err}
	}
	keys, stopKeys, err := c.openKeys(ctx, p, config.Logger)
	if err != nil {
		return usageError{err}
	}
	defer stopKeys() // when the last request has been served
	l, host, err := c.listen(ctx)
	if err != nil {
		return usageError{err}
	}
	config.Keys, config.Host, config.DefaultBrain, config.PingInterval = keys, host, c.Default, c.Ping
	config.DrainDelay = c.Drain
	d, err := daemon.New(ctx, config)
	if err != nil {
		if err = errors.Join(err, l.Close()); errors.Is(err, gitremote.ErrUnreachable) {
			return daemonError{err}
		}
		return databaseError(err)
	}
	fmt.Fprintf(p.stdout, "evalctl: listening on http://%s\n", l.Addr())
	return d.Serve(ctx, l)
}

// openKeys returns the keys of the API, which follow their file until stop is called. Without
// --keys they are nil.
func (c *serveCmd) openKeys(ctx context.Context, p *process, log *slog.Logger) (_ *httpapi.Keys, stop func(), err error) {
	if c.Keys == "" {
		return nil, func() {}, nil
	}
	info, err := os.Stat(c.Keys)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(p.stderr, "evalctl: %s has mode %04o: only its owner should have access (chmod 600)\n", c.Keys, info.Mode().Perm())
	}
	file, err := httpapi.OpenKeysFile(c.Keys, log)
	if err != nil {
		return nil, nil, err
	}
	var reload <-chan struct{}
	if p.hangups != nil {
		reload = p.hangups()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() { file.Follow(ctx, reload) })
	return file.Keys(), func() {
		cancel()
		following.Wait()
	}, nil
}

// listen rejects an address that other machines can reach unless --keys or --insecure is given.
// host is the address without the port.
func (c *serveCmd) listen(ctx context.Context) (l net.Listener, host string, err error) {
	if host, _, err = net.SplitHostPort(c.Addr); err != nil {
		return nil, "", fmt.Errorf("--addr %q: must be HOST:PORT such as 127.0.0.1:8787", c.Addr)
	}
	var lc net.ListenConfig
	if l, err = lc.Listen(ctx, "tcp", c.Addr); err != nil {
		return nil, "", fmt.Errorf("--addr %s: %w", c.Addr, err)
	}
	if c.Keys == "" && !c.Insecure && exposed(l.Addr()) {
		_ = l.Close() // nothing was accepted
		return nil, "", fmt.Errorf("--addr %s: listening on %s gives other machines full access: "+
			"set --keys, or --insecure to allow it", c.Addr, l.Addr())
	}
	return l, host, nil
}

// exposed reports whether other machines may reach addr, the address that a listener is bound to.
// The requested address does not suffice: a hostname, even localhost, may resolve to any address.
func exposed(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}
