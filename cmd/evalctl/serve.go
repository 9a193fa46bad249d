package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/brain"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/search"
	"evalctl/internal/llm"
)

type serveCmd struct {
	Addr        string        `env:"SVC_ADDR" default:"127.0.0.1:8787" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free one (${default})."`
	Home        string        `env:"SVC_HOME" placeholder:"DIR" help:"Folder for brains. Without it everything is kept in memory and gone at the end."`
	Store       string        `env:"SVC_STORE" enum:"memory,fs,git," default:"" placeholder:"STORE" help:"What keeps documents: memory, which takes no home, fs or git. Default: fs with a home, else memory."`
	Keys        string        `placeholder:"FILE" help:"Who may use the daemon, made with evalctl keys. Without it everybody who reaches the address may do everything."`
	Insecure    bool          `help:"Listen beyond this machine without keys."`
	Ping        time.Duration `name:"ping-interval" default:"25s" help:"Pause between the pings of a change stream (${default})."`
	ChunkSize   int           `default:"1600" placeholder:"BYTES" help:"Largest size of a passage that search ranks, in bytes of UTF-8, 64 to 8000 (${default}). A change builds the indexes anew."`
	IndexMemory int64         `default:"1024" placeholder:"MIB" help:"Memory that the search indexes of idle brains may take together, in MiB; one that was dropped is back with the next search (${default})."`
	LogFormat   string        `enum:"text,json" default:"text" help:"Format of the log on stderr: ${enum} (${default})."`
	LLMProvider string        `name:"llm-provider" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"Reader's model provider: openai, ollama or fake. Without it fake answers by quoting."`
	LLMModel    string        `name:"llm-model" env:"SVC_LLM_MODEL" placeholder:"MODEL" help:"Reader model."`
	searchModels
}

func (serveCmd) Help() string {
	return `Prints "evalctl: listening on URL" to stdout once it accepts connections, and logs to stderr.

Models are found at OPENAI_BASE_URL with OPENAI_API_KEY, or OLLAMA_HOST; embeddings at SVC_EMBED_BASE_URL
with SVC_EMBED_API_KEY where they are set; the http reranker at SVC_RERANK_BASE_URL with SVC_RERANK_API_KEY.
OPENAI_API_KEY goes to the server of OPENAI_BASE_URL only.

Examples:

  evalctl serve --home ./brains
  evalctl serve --home ./brains --store git
  evalctl serve --addr 127.0.0.1:0 --embed-provider fake
  evalctl serve --addr 0.0.0.0:8787 --home ./brains --keys keys.yaml
`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(ctx context.Context, p *process) error {
	if c.Ping <= 0 {
		return usageError{fmt.Errorf("--ping-interval %v: must be above 0", c.Ping)}
	}
	if c.IndexMemory <= 0 {
		return usageError{fmt.Errorf("--index-memory %d: must be above 0", c.IndexMemory)}
	}
	if c.ChunkSize < search.MinChunkSize || c.ChunkSize > search.MaxChunkSize {
		return usageError{fmt.Errorf("--chunk-size %d: must be from %d to %d", c.ChunkSize, search.MinChunkSize, search.MaxChunkSize)}
	}
	keys, err := c.readKeys(p)
	if err != nil {
		return usageError{err}
	}
	reader, model, err := c.reader(p)
	if err != nil {
		return usageError{err}
	}
	logger := c.logger(p)
	searching, cache, err := c.search(p, logger)
	if err != nil {
		return usageError{err}
	}
	defer cache.Close()
	l, host, err := c.listen(ctx)
	if err != nil {
		return usageError{err}
	}
	d, err := daemon.New(ctx, daemon.Config{
		Home: c.Home, Store: c.Store, Reader: reader, ReaderModel: model, Logger: logger,
		IndexConfig: brain.IndexConfig{Search: searching, ChunkSize: c.ChunkSize, IndexMemory: c.IndexMemory << 20},
		Options:     httpapi.Options{Keys: keys, Host: host, PingInterval: c.Ping, Version: version().String()},
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(p.stdout, "evalctl: listening on http://%s\n", l.Addr())
	return d.Serve(ctx, l)
}

// readKeys gives nil without --keys.
func (c *serveCmd) readKeys(p *process) (*httpapi.Keys, error) {
	if c.Keys == "" {
		return nil, nil
	}
	info, err := os.Stat(c.Keys)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(p.stderr, "evalctl: %s has mode %04o: others should neither read nor change it (chmod 600)\n", c.Keys, info.Mode().Perm())
	}
	return httpapi.ReadKeys(c.Keys)
}

func (c *serveCmd) reader(p *process) (llm.Provider, string, error) {
	config := c.llmConfig(p)
	if config.Provider == "" {
		config.Provider = llm.ProviderFake
		fmt.Fprintln(p.stderr, "evalctl: no SVC_LLM_PROVIDER: answers are quoted sentences of the notes, by the fake reader")
	}
	model := c.LLMModel
	if config.Provider == llm.ProviderFake {
		model = cmp.Or(model, llm.ProviderFake)
	}
	reader, err := llm.Open(config)
	return reader, model, err
}

func (c *serveCmd) llmConfig(p *process) llm.Config {
	return llm.Config{
		Provider: c.LLMProvider, Model: c.LLMModel, BaseURL: p.env("OPENAI_BASE_URL"),
		APIKey: p.env("OPENAI_API_KEY"), OllamaHost: p.env("OLLAMA_HOST"),
	}
}

// listen refuses an address that others reach while there are no keys. host is
// the address without the port.
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
		return nil, "", fmt.Errorf("--addr %s: listening on %s lets other machines do everything: give --keys, or --insecure to allow it", c.Addr, l.Addr())
	}
	return l, host, nil
}

// exposed reports whether others than this machine may reach an address. It
// looks at what a listener is bound to, not at what was asked for: what a
// hostname, even localhost, stands for is up to the resolver.
func exposed(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

func (c *serveCmd) logger(p *process) *slog.Logger {
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(p.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(p.stderr, nil))
}
