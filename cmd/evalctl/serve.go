package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/brain"
	"evalctl/daemon/setup"
	"evalctl/daemon/store/gitremote"
	"evalctl/internal/heap"
)

type serveCmd struct {
	Addr     string        `env:"SVC_ADDR" default:"127.0.0.1:8787" placeholder:"HOST:PORT" help:"${about_addr} (${default})."`
	Home     string        `env:"SVC_HOME" placeholder:"DIR" help:"${about_home}"`
	Keys     string        `placeholder:"FILE" help:"Keys file, see evalctl serve keys; changes apply within seconds. Without it, requests need no token and may do everything."`
	Default  string        `name:"default-brain" env:"SVC_MCP_DEFAULT_BRAIN" placeholder:"BRAIN" help:"${about_default_brain}"`
	Origins  []string      `name:"allow-origin" placeholder:"ORIGIN" sep:"none" help:"Let web pages of this origin use the API, such as https://app.example.com. Repeatable."`
	Insecure bool          `help:"Allow listening beyond loopback without --keys."`
	Ping     time.Duration `name:"ping-interval" default:"25s" placeholder:"DURATION" help:"Interval between pings on change streams (${default})."`
	Drain    time.Duration `name:"drain-delay" default:"0s" placeholder:"DURATION" help:"How long to go on after SIGTERM, not ready by /healthz, so that load balancers notice (${default})."`
	Salvage  string        `placeholder:"NEW-DIR" help:"Copy everything readable from a damaged --home in files to a new home, list what is lost, and exit."`
	Migrate  bool          `help:"Bring the tables of --store postgres://… to this version, and exit."`
	Pprof    bool          `hidden:"" help:"Serve profiles of the process below /debug/pprof, on loopback only."`
	gitFlags
	daemonFlags
}

// gitFlags are what serve does with the repositories of --store git.
type gitFlags struct {
	SignKey  string        `env:"SVC_SIGN_KEY" placeholder:"FILE" help:"SSH private key that signs every commit. Only with --store git."`
	Remote   string        `name:"git-remote" env:"SVC_GIT_REMOTE" placeholder:"URL" help:"Git repository that brains are pulled from and pushed to; {brain} and {tenant} are replaced. Only with --store git."`
	Branch   string        `name:"git-branch" env:"SVC_GIT_BRANCH" placeholder:"BRANCH" help:"Branch at --git-remote; {brain} and {tenant} are replaced. Default: main, or {brain} if the URL has no {brain}."`
	Interval time.Duration `name:"git-interval" env:"SVC_GIT_INTERVAL" default:"1m" placeholder:"DURATION" help:"Interval between pulls from --git-remote (${default}). Commits are pushed in the background, about half a second later."`
}

// Run serves until ctx is canceled.
func (c *serveCmd) Run(ctx context.Context, p *process) error {
	if c.Salvage != "" {
		return daemon.Salvage(ctx, c.Home, c.Salvage, p.stdout)
	}
	if c.Migrate {
		return c.migrate(ctx, p)
	}
	defer heap.HoldData()()
	if c.Ping <= 0 {
		return fmt.Errorf("--ping-interval %v: must be above 0", c.Ping)
	}
	if c.Drain < 0 {
		return fmt.Errorf("--drain-delay %v: must not be negative", c.Drain)
	}
	if c.Default != "" && !brain.ValidID(c.Default) {
		return fmt.Errorf("--default-brain %q: must be the id or slug of a brain: a-z, 0-9 and -", c.Default)
	}
	origins, err := setup.Origins(c.Origins)
	if err != nil {
		return fmt.Errorf("--allow-origin: %w", err)
	}
	config, err := c.settings().Daemon(p.setup(), c.Home, slog.LevelInfo)
	if err != nil {
		return err
	}
	if err := (*setup.Git)(&c.gitFlags).Apply(ctx, p.env, c.Keys != "", &config); err != nil {
		return err
	}
	keys, stopKeys, err := setup.OpenKeys(ctx, c.Keys, p.hangups, p.stderr, config.Logger)
	if err != nil {
		return err
	}
	defer stopKeys() // when the last request has been served
	l, host, err := setup.Listen(ctx, c.Addr, c.Keys != "" || c.Insecure)
	if err != nil {
		return err
	}
	if c.Pprof && setup.Exposed(l.Addr()) {
		return errors.Join(fmt.Errorf("--pprof --addr %s: profiles are served on loopback only, not on %s: "+
			"use an address such as 127.0.0.1:8787", c.Addr, l.Addr()), l.Close())
	}
	config.Keys, config.Host, config.DefaultBrain, config.PingInterval = keys, host, c.Default, c.Ping
	config.DrainDelay, config.Profiles, config.AllowOrigins = c.Drain, c.Pprof, origins
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

// daemonFlags has the flags that serve and mcp share: how the reference daemon stores, ranks and
// answers.
type daemonFlags struct {
	Store       string `env:"SVC_STORE" default:"" placeholder:"STORE" help:"${about_store}"`
	ChunkSize   int    `default:"1600" placeholder:"BYTES" help:"Maximum size of the passages that search ranks, 64 to 8000 letters of one byte, or as many letters of another script (${default}). After a change, indexes are rebuilt."`
	Language    string `placeholder:"CODE" help:"Language of the documents, such as de. Default: from their front matter, else detected. After a change, indexes are rebuilt."`
	IndexMemory int64  `default:"1024" placeholder:"MIB" help:"Total memory for the search indexes of idle brains, in MiB (${default}). Evicted indexes are loaded again by the next search."`
	LogFormat   string `enum:"text,json" default:"text" help:"Log format on stderr: ${enum} (${default})."`
	LLMProvider string `name:"llm-provider" hidden:"" env:"SVC_LLM_PROVIDER" placeholder:"NAME" help:"${about_llm_provider}"`
	Model       string `aliases:"llm-model" env:"SVC_LLM_MODEL" placeholder:"[PROVIDER/]MODEL" help:"${about_model}"`
	Private     bool   `name:"allow-private-fetch" help:"Let clients ingest pages of private addresses too, of this machine and its network."`

	EmbedProvider  string   `name:"embed-provider" env:"SVC_EMBED_PROVIDER" placeholder:"NAME" help:"Embedding provider: openai, ollama or fake. With one, auto mode is hybrid; without, bm25."`
	EmbedModel     string   `name:"embed-model" env:"SVC_EMBED_MODEL" placeholder:"MODEL" help:"Embedding model."`
	EmbedRPS       float64  `name:"embed-rps" default:"0" placeholder:"N" help:"Maximum embedding requests per second; 0 for no limit (${default})."`
	EmbedCache     string   `name:"embed-cache" env:"SVC_EMBED_CACHE" placeholder:"DIR" help:"Folder for vectors, which any number of daemons share. Default: cache/embeddings in the home; without a home, memory."`
	RerankProvider string   `name:"rerank-provider" env:"SVC_RERANK_PROVIDER" placeholder:"NAME" help:"Reranking provider of hybrid-rerank mode: http (a /rerank endpoint) or llm (the provider of the reader)."`
	RerankModel    string   `name:"rerank-model" env:"SVC_RERANK_MODEL" placeholder:"MODEL" help:"Reranking model."`
	Fusion         string   `env:"SVC_FUSION" placeholder:"METHOD" help:"How hybrid mode combines bm25 and semantic: score (by scores, the default) or rrf (by ranks)."`
	FusionWeight   *float64 `env:"SVC_FUSION_WEIGHT" placeholder:"N" help:"Weight of the semantic ranking in hybrid mode, relative to 1 for bm25: above 0, at most 100. Default: 0.3 (0.2 with rrf), or 0.00001 with the fake embedder."`
	Degrade        bool     `help:"If the embedder or reranker fails, search in a simpler mode and say so, instead of failing."`
}

// settings returns the values of the flags.
func (f *daemonFlags) settings() *setup.Settings { return (*setup.Settings)(f) }

// setup returns the process that a daemon is configured in.
func (p *process) setup() setup.From {
	return setup.From{Args: p.args, Env: p.env, Stderr: p.stderr, Version: version().String()}
}
