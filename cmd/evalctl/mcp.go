package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"evalctl/daemon"
	"evalctl/daemon/brain"
	"evalctl/daemon/client"
	"evalctl/daemon/fetch"
	"evalctl/daemon/home"
	"evalctl/daemon/mcpserver"
	"evalctl/daemon/setup"
	"evalctl/harness/project"
	"evalctl/internal/clientconfig"
	"evalctl/internal/heap"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
)

// mcpTimeout limits one request of a tool. Reflection and consolidation wait for a model.
const mcpTimeout = 10 * time.Minute

// mcpCmd has the flags of evalctl serve mcp. --install prints them as the entry of a client.
type mcpCmd struct {
	Endpoint string   `placeholder:"URL" help:"${about_endpoint}"`
	Home     string   `env:"SVC_HOME" placeholder:"DIR" help:"${about_home}"`
	Default  string   `name:"default-brain" env:"SVC_MCP_DEFAULT_BRAIN" placeholder:"BRAIN" help:"${about_default_brain}"`
	Files    []string `name:"ingest-files" aliases:"files" placeholder:"DIR" sep:"none" help:"Let memory_ingest_file read files below this folder, instead of none. Repeatable."`
	Install  string   `placeholder:"CLIENT" help:"Print the entry of this command for a client's configuration, and serve nothing. list: list the clients."`
	Entry    string   `aliases:"name" default:"evalctl" placeholder:"NAME" help:"Name of the entry (${default})."`
	daemonFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *mcpCmd) Validate() error {
	if c.Endpoint != "" && c.Store != "" {
		return errors.New("--store is for the daemon of a home; --endpoint has a store of its own")
	}
	// The ids of a daemon elsewhere have forms of their own.
	if c.Default != "" && c.Endpoint == "" && !brain.ValidID(c.Default) {
		return fmt.Errorf("--default-brain %q: must be the id or slug of a brain: a-z, 0-9 and -", c.Default)
	}
	return nil
}

// Run serves the client until stdin ends or ctx is canceled, or prints an entry.
func (c *mcpCmd) Run(ctx context.Context, p *process, k *kong.Context) error {
	if c.Install != "" {
		return c.install(p, k.Selected().Flags)
	}
	defer heap.HoldSpare()()
	// A client that has gone away must not end the process before the daemon is closed. Writes
	// return an error instead.
	signal.Ignore(syscall.SIGPIPE)
	if terminal.Is(p.stdin) {
		fmt.Fprintln(p.stderr, "evalctl: waiting for an MCP client on stdin. Clients start this command themselves: see evalctl serve mcp --install list")
	}
	logger := c.settings().NewLogger(p.stderr, slog.LevelWarn)
	if c.Endpoint != "" {
		return c.serve(ctx, p, logger, c.Endpoint, nil)
	}
	shared, err := c.home(p, logger)
	if err != nil {
		return err
	}
	// What is wrong with the home is reported now, not by the first call of a tool.
	conn, err := shared.Dial(ctx, "", "")
	if err != nil {
		if err = errors.Join(err, shared.Close()); postgres.IsURL(c.Store) {
			err = databaseError(err)
		}
		return err
	}
	conn.Close()
	err = c.serve(ctx, p, logger, home.URL, home.HTTPClient(shared.Dial))
	return errors.Join(err, shared.Close())
}

// serve serves the client with the daemon at url. reach is nil for a daemon at an endpoint.
func (c *mcpCmd) serve(ctx context.Context, p *process, logger *slog.Logger, url string, reach *http.Client) error {
	options := client.Options{UserAgent: userAgent(), Timeout: mcpTimeout, HTTPClient: reach}
	if reach == nil {
		// The daemon may speak another dialect of the protocol.
		own := http.DefaultTransport.(*http.Transport).Clone()
		defer own.CloseIdleConnections()
		options.HTTPClient = &http.Client{Transport: mcpserver.Translate(own)}
		options.Token = p.env("SVC_TOKEN")
	}
	api, err := client.New(url, &options)
	if err != nil {
		return fmt.Errorf("--endpoint: %w", err)
	}
	defer api.Close()
	files, err := mcpserver.OpenFiles(c.Files)
	if err != nil {
		return fmt.Errorf("--%w", err)
	}
	server, err := mcpserver.New(mcpserver.Config{
		Client: api, Files: files, DefaultBrain: c.Default, Version: version().Number, Logger: logger,
		Fetcher: fetch.New(fetch.Options{AllowPrivate: c.Private}),
	})
	if err != nil {
		return err
	}
	err = server.ServeStdio(ctx, p.stdin, p.stdout)
	if ctx.Err() != nil {
		err = nil // ended by a signal, as serve
	}
	return errors.Join(err, files.Close())
}

// home returns the home that the flags name. Without one, the daemon is in memory, or has its data
// in a database.
func (c *mcpCmd) home(p *process, logger *slog.Logger) (*home.Home, error) {
	dir := ""
	homeless := c.Store == daemon.StoreMemory || postgres.IsURL(c.Store)
	if !homeless || c.Home != "" { // the daemon rejects both
		var err error
		if dir, err = c.homeDir(p); err != nil {
			return nil, err
		}
	}
	config := func() (daemon.Config, error) { return c.settings().Daemon(p.setup(), dir, slog.LevelWarn) }
	return home.New(dir, config, home.FirstBrain(c.Default, userAgent()), logger), nil
}

// homeDir returns the absolute path of the home.
func (c *mcpCmd) homeDir(p *process) (string, error) { return home.Folder(c.Home, runtime.GOOS, p.env) }

// install prints the entry for the configuration of a client, or lists the clients.
func (c *mcpCmd) install(p *process, flags []*kong.Flag) error {
	program, args, err := c.command(p, flags)
	if err != nil {
		return err
	}
	client := c.Install
	if client == "list" {
		client = ""
	}
	return clientconfig.Install{
		Client: client, Name: c.Entry,
		Program: program, Args: args, Variables: c.variables(p), GOOS: runtime.GOOS, Env: p.env,
	}.Run(p.stdout, p.stderr)
}

// command returns the command that starts evalctl serve mcp with the settings of this process.
func (c *mcpCmd) command(p *process, flags []*kong.Flag) (program string, args []string, err error) {
	program, err = os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("path of this program: %w", err)
	}
	args = []string{"serve", "mcp"}
	add := func(name, value string) { args = append(args, "--"+name, value) }
	if c.Endpoint != "" {
		add("endpoint", c.Endpoint)
	} else if c.Store != daemon.StoreMemory || c.Home != "" {
		// A client may start the program with fewer variables, which must not lead to another home.
		dir, err := c.homeDir(p)
		if err != nil {
			return "", nil, err
		}
		add("home", dir)
	}
	for _, folder := range c.Files { // a client starts the program in a folder of its own
		dir, err := filepath.Abs(folder)
		if err != nil {
			return "", nil, err
		}
		add("ingest-files", dir)
	}
	for _, f := range flags {
		switch f.Name {
		case "endpoint", "home", "ingest-files", "install", "entry", "help", "version":
			continue
		case "default-brain", "log-format", "allow-private-fetch":
		default: // of the daemon
			if c.Endpoint != "" {
				continue
			}
		}
		switch value, _ := project.Text(f.Target).(string); {
		case value == "" || value == cmp.Or(f.Default, "false"):
		case f.IsBool():
			args = append(args, "--"+f.Name)
		default:
			add(f.Name, value)
		}
	}
	return program, args, nil
}

// variables returns the names of the variables, tokens and API keys among them, that evalctl serve mcp
// needs for its settings.
func (c *mcpCmd) variables(p *process) []string {
	if c.Endpoint != "" {
		return setup.Given(p.env, "SVC_TOKEN")
	}
	return c.settings().Variables(p.env)
}
