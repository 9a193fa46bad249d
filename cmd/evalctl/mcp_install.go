package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/alecthomas/kong"

	"evalctl/daemon"
	"evalctl/daemon/setup"
	"evalctl/harness/project"
	"evalctl/internal/clientconfig"
)

type mcpInstallCmd struct {
	Client string `arg:"" optional:"" help:"Client to configure. Without it, the clients are listed."`
	Name   string `default:"evalctl" help:"Name of the entry (${default})."`
	File   string `placeholder:"FILE" help:"Configuration file, for example that of a project. Default: that of the user; for claude-code, .mcp.json."`
	Write  bool   `help:"Edit the file. Without it, the configuration is printed."`
}

// Run prints or writes the configuration of a client, or lists the clients.
func (c *mcpInstallCmd) Run(p *process, ctx *kong.Context, parent *mcpCmd) error {
	program, args, err := parent.command(p, ctx.Selected().Parent.Flags)
	if err != nil {
		return err
	}
	return clientconfig.Install{
		Client: c.Client, Name: c.Name, File: c.File, Write: c.Write,
		Program: program, Args: args, Variables: parent.variables(p), GOOS: runtime.GOOS, Env: p.env,
	}.Run(p.stdout, p.stderr)
}

// command returns the command that starts evalctl mcp with the settings of this process.
func (c *mcpCmd) command(p *process, flags []*kong.Flag) (program string, args []string, err error) {
	program, err = os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("path of this program: %w", err)
	}
	args = []string{"mcp"}
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
		add("files", dir)
	}
	for _, f := range flags {
		switch f.Name {
		case "endpoint", "home", "files", "help", "version":
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

// variables returns the names of the variables, tokens and API keys among them, that evalctl mcp
// needs for its settings.
func (c *mcpCmd) variables(p *process) []string {
	if c.Endpoint != "" {
		return setup.Given(p.env, "SVC_TOKEN")
	}
	return c.settings().Variables(p.env)
}
