package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"evalctl/daemon/httpapi"
	"evalctl/harness/conformance"
	"evalctl/harness/plan"
	"evalctl/harness/progress"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/harness/target"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

// conformanceCmd has the flags of evalctl conformance.
type conformanceCmd struct {
	Target    string `aliases:"sdk" placeholder:"TARGET" help:"${about_target}"`
	Endpoint  string `placeholder:"URL" help:"${about_endpoint}"`
	DaemonCmd string `name:"daemon-cmd" placeholder:"CMD" help:"${about_daemon_cmd}"`
	MCP       string `name:"mcp" placeholder:"stdio:CMD|URL" help:"Check the tools of an MCP server too: a command, or the URL of streamable HTTP. Default for --target go: /mcp of the daemon."`
	Port      int    `default:"0" placeholder:"N" help:"${about_port}"`

	Token            string `env:"SVC_TOKEN" placeholder:"TOKEN" help:"${about_token}"`
	TokenReadonly    string `name:"token-readonly" env:"SVC_TOKEN_READONLY" placeholder:"TOKEN" help:"Token of the same tenant with permission to read only."`
	TokenOtherTenant string `name:"token-other-tenant" env:"SVC_TOKEN_OTHER_TENANT" placeholder:"TOKEN" help:"Token of another tenant."`

	Profile     string        `enum:"full,evaluable,documents" default:"full" help:"What the daemon is checked for: full, evaluable (what run and replay need to measure it), or documents (the documents protocol and its events) (${default})."`
	Only        []string      `placeholder:"ID|GROUP" help:"Run only these checks of the profile: an id, a group, or a glob over ids."`
	List        bool          `help:"List the checks and do not run them."`
	Slow        bool          `help:"Also run the checks that take half a minute."`
	Concurrency int           `aliases:"parallel" default:"4" placeholder:"N" help:"${about_concurrency} (${default})."`
	Timeout     time.Duration `name:"request-timeout" aliases:"timeout" default:"30s" placeholder:"DURATION" help:"${about_request_timeout} (${default})."`
	Format      string        `enum:"text,json,junit,markdown" default:"text" help:"${about_format}: ${enum} (${default})."`
	Output      string        `placeholder:"FILE" help:"${about_output}."`
	Quiet       bool          `help:"${about_quiet}"`
	daemonEnvFlag
	reportFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *conformanceCmd) Validate() error {
	switch {
	case c.List:
		return nil
	case c.Target == "" && c.Endpoint == "" && c.MCP == "":
		return fmt.Errorf("--target, --endpoint or --mcp is missing; --target is %s, NAME=URL or NAME='COMMAND'",
			strings.Join(target.SDKs, ", "))
	case c.Endpoint != "" && (c.Target != "" || c.DaemonCmd != ""):
		return errors.New("--endpoint excludes --target and --daemon-cmd: " +
			"the daemon is either running already or started")
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("--port %d: must be from 0 to 65535", c.Port)
	case c.Concurrency < 1:
		return fmt.Errorf("--concurrency %d: must be at least 1", c.Concurrency)
	case c.Timeout <= 0:
		return fmt.Errorf("--request-timeout %v: must be above 0", c.Timeout)
	}
	endpoint := c.Endpoint
	if strings.HasPrefix(c.MCP, "stdio:") {
		endpoint = "" // the server of the tools is started
	}
	return c.validateDaemonEnv(endpoint)
}

// Run checks a daemon, or lists the checks.
func (c *conformanceCmd) Run(ctx context.Context, p *process) (err error) {
	checks, err := conformance.Checks(conformance.Profile(c.Profile), c.Only)
	if err != nil {
		return fmt.Errorf("--only: %w; --list shows all checks", err)
	}
	if c.List {
		return c.list(p.stdout, checks)
	}
	if err := c.prepare(report.File{Flag: "output", Path: c.Output}); err != nil {
		return err
	}
	out, err := atomicfile.OpenOutput(c.Output, p.stdout)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	defer out.Discard()
	t := newTerminal(p, c.Quiet)
	defer func() { err = c.writeProblem(p, t, "conformance", err) }()
	planned, err := c.plan(p)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, planned.Close())
		if left, started := planned.Escaped(); started {
			text.Escaped(t, left)
		}
	}()
	if planned.Keys != "" {
		t.Field("keys", "made for this run: a full token, a read-only one, and one of another tenant")
	}
	text.Hint(t, planned.Hint)
	restarting := func() { t.Field("restart", "the daemon died and is started again") }
	if err := planned.Open(ctx, restarting); err != nil {
		return asDaemonError(ctx, err)
	}
	return c.check(ctx, p, t, out, planned.Options)
}

// plan returns the daemon that is checked, not started yet.
func (c *conformanceCmd) plan(p *process) (*plan.Conformance, error) {
	targets, err := c.targets(p)
	if err != nil {
		return nil, err
	}
	planned, err := plan.NewConformance(plan.ConformanceSpec{
		Targets: targets, Target: c.Target, Command: c.DaemonCmd, Port: c.Port,
		Options: conformance.Options{
			Endpoint: c.Endpoint, MCP: c.MCP,
			Token: c.Token, ReadOnlyToken: c.TokenReadonly, OtherTenantToken: c.TokenOtherTenant,
			Profile: conformance.Profile(c.Profile), Only: c.Only,
			Parallel: c.Concurrency, Timeout: c.Timeout, Slow: c.Slow, Agent: userAgent(),
		},
		NewToken: httpapi.NewToken,
		AddKey: func(file string, k plan.ConformanceKey) error {
			return httpapi.AddKey(file, httpapi.Key{
				Name: k.Name, Tenant: k.Tenant, SHA256: httpapi.HashToken(k.Token),
				Brains: []string{httpapi.AllBrains}, Roles: []string{k.Role},
			}, func() error { return nil })
		},
	})
	if err != nil {
		err = errors.Join(err, planned.Close())
	}
	return planned, err
}

// check runs the checks and writes the report. If it is stopped, the report contains the checks
// that were done.
func (c *conformanceCmd) check(ctx context.Context, p *process, t *terminal.Terminal, out *atomicfile.Output, options conformance.Options) error {
	if options.Endpoint != "" {
		t.Field("daemon", "%s", terminal.Line(options.Endpoint))
	}
	if options.MCP != "" {
		t.Field("mcp", "%s", terminal.Line(options.MCP))
	}
	if options.Profile != conformance.Full {
		t.Field("profile", "%s", options.Profile)
	}
	planned, err := options.Planned()
	if err != nil {
		return err
	}
	progress := progress.NewChecks(t, planned)
	options.Done = progress.Add
	found, err := conformance.Run(ctx, options)
	progress.Done()
	text.BrainsLeft(t, found)
	switch {
	case errors.Is(err, conformance.ErrUnusable):
		return daemonError{err}
	case errors.Is(err, conformance.ErrDied):
		err = daemonError{fmt.Errorf("%d of %d checks done: %w", len(found.Results), planned, err)}
	case err != nil && ctx.Err() == nil:
		return err
	case err != nil:
		err = fmt.Errorf("%d of %d checks done: %w", len(found.Results), planned, err)
	default:
		if err = found.Err(); err != nil && !errors.As(err, new(*conformance.BrokenError)) {
			err = daemonError{err}
		}
	}
	err = c.write(p, t, report.Conformance(found), err)
	if written := errors.Join(c.render(out, found), out.Keep()); written != nil {
		return errors.Join(err, fmt.Errorf("write the report: %w", written))
	}
	return err
}

// render writes the report in the format of --format.
func (c *conformanceCmd) render(w io.Writer, r conformance.Report) error {
	switch c.Format {
	case "json":
		return writeJSON(w, r)
	case "junit":
		return report.JUnit(w, report.Conformance(r))
	case "markdown":
		return report.Markdown(w, report.Conformance(r), report.MaxSummary)
	}
	return terminal.New(w, nil, false).Buffered(func(t *terminal.Terminal) { report.Text(t, report.Conformance(r)) })
}

// list prints the checks as a table or as JSON.
func (c *conformanceCmd) list(w io.Writer, checks []conformance.Check) error {
	if c.Format == "json" {
		return writeJSON(w, checks)
	}
	return text.Checks(w, checks)
}
