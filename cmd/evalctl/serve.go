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
	Addr     string        `env:"SVC_ADDR" default:"127.0.0.1:8787" placeholder:"HOST:PORT" help:"Address to listen on; port 0 picks a free one (${default})."`
	Home     string        `env:"SVC_HOME" placeholder:"DIR" help:"Folder for brains. Without it, all data is kept in memory and lost on exit."`
	Keys     string        `placeholder:"FILE" help:"Keys file, see evalctl keys; changes apply within seconds. Without it, requests need no token and may do everything."`
	Default  string        `name:"default-brain" env:"SVC_MCP_DEFAULT_BRAIN" placeholder:"BRAIN" help:"Id or slug of the brain of requests that name none. Default: the oldest brain that the key permits."`
	Insecure bool          `help:"Allow listening beyond loopback without --keys."`
	Ping     time.Duration `name:"ping-interval" default:"25s" help:"Interval between pings on change streams (${default})."`
	Drain    time.Duration `name:"drain-delay" default:"0s" help:"How long to go on after SIGTERM, reported as not ready by /healthz, so that load balancers notice (${default})."`
	Pprof    bool          `hidden:"" help:"Serve profiles of the process below /debug/pprof, on loopback only."`
	gitFlags
	daemonFlags
}

// gitFlags are what serve does with the repositories of --store git.
type gitFlags struct {
	SignKey  string        `env:"SVC_SIGN_KEY" placeholder:"FILE" help:"SSH private key that signs every commit. Only with --store git."`
	Remote   string        `name:"git-remote" env:"SVC_GIT_REMOTE" placeholder:"URL" help:"Git repository that brains are pulled from and pushed to; {brain} and {tenant} are replaced. Only with --store git."`
	Branch   string        `name:"git-branch" env:"SVC_GIT_BRANCH" placeholder:"BRANCH" help:"Branch at --git-remote; {brain} and {tenant} are replaced. Default: main, or {brain} if the URL has no {brain}."`
	Interval time.Duration `name:"git-interval" env:"SVC_GIT_INTERVAL" default:"1m" help:"Interval between pulls from --git-remote (${default}). Commits are pushed at once."`
}

// Run serves until ctx is canceled.
func (c *serveCmd) Run(ctx context.Context, p *process) error {
	defer heap.HoldSpare()()
	if c.Ping <= 0 {
		return fmt.Errorf("--ping-interval %v: must be above 0", c.Ping)
	}
	if c.Drain < 0 {
		return fmt.Errorf("--drain-delay %v: must not be negative", c.Drain)
	}
	if c.Default != "" && !brain.ValidID(c.Default) {
		return fmt.Errorf("--default-brain %q: must be the id or slug of a brain: a-z, 0-9 and -", c.Default)
	}
	config, cache, err := c.settings().Daemon(p.setup(), c.Home, slog.LevelInfo)
	if err != nil {
		return err
	}
	defer cache.Close()
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
	config.DrainDelay, config.Profiles = c.Drain, c.Pprof
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
