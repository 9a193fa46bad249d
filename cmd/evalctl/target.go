package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

// targetCmd has the commands about targets.
type targetCmd struct {
	Map   targetMapCmd   `cmd:"" help:"Propose the mapping of an MCP server from its tools."`
	Check targetCheckCmd `cmd:"" help:"Write, find and delete a text, and print what a target can do."`
}

type targetMapCmd struct {
	Server string `arg:"" help:"MCP server: a command, a URL, or a target of evalctl.yaml. A command may have {home} and begin with assignments."`
	Write  string `placeholder:"FILE" help:"Write the mapping to a new file. Without it, the mapping is printed."`
	Token  string `env:"SVC_TOKEN" placeholder:"TOKEN" help:"Bearer token for a server at a URL."`
}

// Run proposes a mapping.
func (c *targetMapCmd) Run(ctx context.Context, p *process) error {
	r, err := p.targets()
	if err != nil {
		return err
	}
	given := c.Server
	if _, known := r.Defined[given]; !known {
		given = "server=mcp:" + strings.TrimPrefix(given, "mcp:")
	}
	d, err := r.Find(given)
	if err != nil {
		return err
	}
	if !d.MCP {
		return fmt.Errorf("target %s is no MCP server; a mapping of an HTTP service is written by hand, see docs/any-memory.md", d.Name)
	}
	if c.Write != "" {
		if _, err := os.Stat(c.Write); err == nil {
			return fmt.Errorf("--write %s: the file exists already; name a new one", c.Write)
		}
	}
	return c.propose(ctx, p, d)
}

// propose examines the server and prints or writes the mapping.
func (c *targetMapCmd) propose(ctx context.Context, p *process, d target.Definition) (err error) {
	home, err := os.MkdirTemp("", "evalctl-map-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	config, err := sessionOf(p, d, c.Token, 0)
	if err != nil {
		return err
	}
	config.Launch.Home, config.Launch.LogPath = filepath.Join(home, "data"), filepath.Join(home, "log")
	if err := os.Mkdir(config.Launch.Home, 0o700); err != nil {
		return err
	}
	s, err := mapping.Examine(ctx, mapping.Config{
		URL: config.Endpoint, Token: config.Token, Profile: config.Profile, Launch: config.Launch,
	})
	if err != nil {
		return daemonError{err}
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(p.stderr, "server %s %s, tools: %s\n", terminal.Line(s.Name), terminal.Line(s.Version), terminal.Line(s.ToolNames()))
	var shown strings.Builder
	proposal, err := s.Propose(ctx, d.Profile, seed.NewMark(), &shown)
	for line := range strings.Lines(shown.String()) {
		fmt.Fprintln(p.stderr, terminal.Line(strings.TrimRight(line, "\n")))
	}
	if err != nil {
		return daemonError{err}
	}
	data, err := proposal.Mapping()
	if err != nil {
		return err
	}
	if c.Write == "" {
		_, err := p.stdout.Write(data)
		return err
	}
	if err := atomicfile.WriteData(c.Write, 0o644, data); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stderr, "wrote %s; check it with: evalctl target check 'NAME=mcp: --mapping %[1]s COMMAND'\n", terminal.Line(c.Write))
	return err
}

type targetCheckCmd struct {
	Target  string `arg:"" help:"Target: go, ts, py, one of evalctl.yaml, NAME=URL, NAME='COMMAND' or NAME='mcp:COMMAND'."`
	Token   string `env:"SVC_TOKEN" placeholder:"TOKEN" help:"Bearer token for the target."`
	Dialect string `enum:"auto,snake,camel" default:"auto" help:"Spelling of request keys: ${enum}."`
}

// errCheckFailed means that a step of a check failed.
var errCheckFailed = errors.New("the target failed the check")

// Run checks a target.
func (c *targetCheckCmd) Run(ctx context.Context, p *process) (err error) {
	d, err := findTarget(p, c.Target, "", "")
	if err != nil {
		return err
	}
	config, err := sessionOf(p, d, c.Token, 0)
	if err != nil {
		return err
	}
	config.Concurrency = 1
	session, err := harness.Open(ctx, config)
	if err != nil {
		return asDaemonError(ctx, err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	w := p.stdout
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-18s %s\n", name, terminal.Line(fmt.Sprintf(format, args...)))
	}
	row("target", "%s", session.Service().URL())
	if f := session.Foreign(); f != nil {
		m := f.Seen()
		row("mapping", "%s  sha256 %.12s  query %s  brains %s", m.Mapping, m.SHA256, m.Query, m.Brains)
		row("server", "%s %s  MCP %s", m.Server, m.ServerVersion, m.Protocol)
	}
	failed := false
	for _, s := range seed.Probe(ctx, session.Service(), result.Dialect(c.Dialect), seed.NewMark()) {
		failed = failed || s.Err != nil && !s.Lacked()
		row(s.Name, "%s", s.Outcome())
	}
	if f := session.Foreign(); f != nil {
		for _, a := range f.Abilities() {
			row(a.Name, "%s", a.Text)
		}
	}
	if failed {
		return daemonError{errCheckFailed}
	}
	return nil
}
