package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"evalctl/harness"
	"evalctl/harness/mapping"
	"evalctl/harness/plan"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

// targetCmd has the commands about targets.
type targetCmd struct {
	Map   targetMapCmd   `cmd:"" help:"Propose the mapping of an MCP server, or list the mappings that are built in."`
	Check targetCheckCmd `cmd:"" help:"Write, find and delete a text, and print what a target can do."`
}

type targetMapCmd struct {
	Server string   `arg:"" optional:"" help:"MCP server: a command, a URL, or a target of evalctl.yaml. A command may have {home} and begin with assignments. Without it, the mappings that are built in are listed."`
	Write  string   `name:"output" aliases:"write" placeholder:"FILE" help:"${about_output}."`
	Token  string   `env:"SVC_TOKEN" placeholder:"TOKEN" help:"${about_token}"`
	Header []string `sep:"none" placeholder:"'NAME: VALUE'" help:"Header of all requests to a service at a URL, and in the mapping. A secret is {env:VARIABLE}. Repeatable."`
	daemonEnvFlag
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *targetMapCmd) Validate() error {
	if c.Server == "" && (c.Write != "" || len(c.Header) > 0) {
		return errors.New(`expected "<server>": --output and --header are for the proposal for a server`)
	}
	return nil
}

// Run proposes a mapping, and prints or writes it.
func (c *targetMapCmd) Run(ctx context.Context, p *process) (err error) {
	if c.Server == "" {
		return listMappings(p)
	}
	targets, err := c.targets(p)
	if err != nil {
		return err
	}
	config, err := targets.FindServer(c.Server, c.Token)
	if err != nil {
		return err
	}
	headers, err := mapping.ParseHeaders(c.Header)
	if err != nil {
		return fmt.Errorf("--header: %w", err)
	}
	if len(headers) > 0 && config.Endpoint == "" {
		return fmt.Errorf("--header is for a service at a URL, and %s is started", c.Server)
	}
	if c.Write != "" {
		if _, err := os.Stat(c.Write); err == nil {
			return fmt.Errorf("--output %s: the file exists already; name a new one", c.Write)
		}
	}
	home, err := os.MkdirTemp("", "evalctl-map-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	var shown strings.Builder
	data, err := plan.ProposeMapping(ctx, config, headers, p.env, home, &shown)
	for line := range strings.Lines(shown.String()) {
		fmt.Fprintln(p.stderr, terminal.Line(strings.TrimRight(line, "\n")))
	}
	if err != nil {
		return daemonError{err}
	}
	if c.Write == "" {
		_, err := p.stdout.Write(data)
		return err
	}
	if err := atomicfile.WriteData(c.Write, 0o644, data); err != nil {
		return err
	}
	how := "mcp: --mapping %[1]s COMMAND"
	if mapping.Describes(c.Server) {
		how = "--mapping %[1]s URL"
	}
	_, err = fmt.Fprintf(p.stderr, "wrote %[1]s; check it with: evalctl target check 'NAME="+how+"'\n", terminal.Line(c.Write))
	return err
}

type targetCheckCmd struct {
	Target  string `arg:"" help:"Target: go, ts, py, one of evalctl.yaml, NAME=URL, NAME='COMMAND' or NAME='mcp:COMMAND'."`
	Token   string `env:"SVC_TOKEN" placeholder:"TOKEN" help:"${about_token}"`
	Dialect string `enum:"auto,snake,camel" default:"auto" help:"Spelling of request keys: ${enum}."`
	daemonEnvFlag
}

// Run checks a target.
func (c *targetCheckCmd) Run(ctx context.Context, p *process) (err error) {
	targets, err := c.targets(p)
	if err != nil {
		return err
	}
	d, err := targets.FindOne(c.Target, "", "")
	if err != nil {
		return err
	}
	config, err := targets.Session(d, c.Token, 0)
	if err != nil {
		return err
	}
	config.Concurrency = 1
	t := newTerminal(p, false)
	if config.Endpoint == "" {
		text.Hint(t, targets.Hint(d, p.env("SVC_LLM_PROVIDER"), config.Profile.Passed))
	}
	if t.Live() {
		t.Field("checking", "%s: each request may take %v", terminal.Line(d.Name), target.CallTimeout)
	}
	session, err := harness.Open(ctx, config)
	if err != nil {
		return asDaemonError(ctx, err)
	}
	defer func() { err = errors.Join(err, closeDaemon(t, session, false)) }()
	failed := plan.CheckTarget(ctx, session, result.Dialect(c.Dialect), func(name, text string) {
		fmt.Fprintf(p.stdout, "%-18s %s\n", name, terminal.Line(text))
	})
	if failed {
		return daemonError{errors.New("the target failed the check")}
	}
	return nil
}

// listMappings prints the mappings that are part of this program, with the packages that each was
// tried with.
func listMappings(p *process) error {
	rows := [][]string{{"mapping", "transport", "tried with", "about"}}
	for _, m := range mapping.Builtin() {
		rows = append(rows, []string{m.Name, string(m.Transport), strings.Join(m.Packages, ", "), m.About})
	}
	_, err := fmt.Fprint(p.stdout, terminal.Table(rows, len(rows[0])))
	return err
}
