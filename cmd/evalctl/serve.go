package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"

	"evalctl/daemon"
	"evalctl/internal/llm"
)

type serveCmd struct {
	Addr        string `env:"SVC_ADDR" default:"127.0.0.1:8787" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free one (${default})."`
	Home        string `env:"SVC_HOME" placeholder:"DIR" help:"Folder for brains. Without it everything is kept in memory and gone at the end."`
	LLMProvider string `name:"llm-provider" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"Reader's model provider: openai, ollama or fake. Without it fake answers by quoting."`
	LLMModel    string `name:"llm-model" env:"SVC_LLM_MODEL" placeholder:"MODEL" help:"Reader model."`
}

func (serveCmd) Help() string {
	return `Prints "evalctl: listening on URL" to stdout once it accepts connections, and logs to stderr.

Examples:

  evalctl serve --home ./brains
  evalctl serve --addr 127.0.0.1:0
`
}

// Run serves until it is told to stop.
func (c *serveCmd) Run(ctx context.Context, p *process) error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return usageError{fmt.Errorf("--addr %q: must be HOST:PORT such as 127.0.0.1:8787", c.Addr)}
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usageError{fmt.Errorf("--addr %s: only loopback addresses are served, because there is no authentication yet", c.Addr)}
	}
	if c.LLMProvider == "" {
		c.LLMProvider = llm.ProviderFake
		fmt.Fprintln(p.stderr, "evalctl: no SVC_LLM_PROVIDER: answers are quoted sentences of the notes, by the fake reader")
	}
	reader, err := llm.Open(llm.Config{
		Provider: c.LLMProvider, Model: c.LLMModel, BaseURL: p.env("OPENAI_BASE_URL"),
		APIKey: p.env("OPENAI_API_KEY"), OllamaHost: p.env("OLLAMA_HOST"),
	})
	if err != nil {
		return usageError{err}
	}
	model := c.LLMModel
	if c.LLMProvider == llm.ProviderFake {
		model = cmp.Or(model, llm.ProviderFake)
	}
	d, err := daemon.New(ctx, daemon.Config{
		Home: c.Home, Reader: reader, ReaderModel: model, Version: version().String(),
		Logger: slog.New(slog.NewTextHandler(p.stderr, nil)),
	})
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(p.stdout, "evalctl: listening on http://%s\n", l.Addr())
	return d.Serve(ctx, l)
}
