package main

import (
	"cmp"
	"errors"
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
	if err := clientconfig.CheckName(c.Name); err != nil {
		return fmt.Errorf("--name %w", err)
	}
	program, args, err := parent.command(p, ctx)
	if err != nil {
		return err
	}
	if c.Client == "" {
		if c.Write || c.File != "" {
			return errors.New("the client is missing; evalctl mcp install lists the clients")
		}
		where, err := clientconfig.FindPlaces(runtime.GOOS, p.env)
		if err != nil {
			return err
		}
		return clientconfig.List(p.stdout, where, c.Name, program, args)
	}
	client, err := clientconfig.Find(c.Client)
	if err != nil {
		return err
	}
	path := c.File
	if path == "" {
		where, err := clientconfig.FindPlaces(runtime.GOOS, p.env)
		if err != nil {
			return err
		}
		path = client.File(where)
	}
	variables := parent.variables(p)
	entry := client.Entry(program, args, variables)
	if c.Write {
		change, err := client.Add(path, c.Name, entry)
		if err != nil {
			return err
		}
		if err := change.Print(p.stdout, c.Name); err != nil || len(change.Lines) == 0 {
			return err
		}
		fmt.Fprintln(p.stderr, client.Then)
		client.Remind(p.stderr, variables)
		return nil
	}
	client.Show(p.stdout, p.stderr, path, c.Name, entry)
	client.Remind(p.stderr, variables)
	return nil
}

// command returns the command that starts evalctl mcp with the settings of this process.
func (c *mcpCmd) command(p *process, ctx *kong.Context) (program string, args []string, err error) {
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
	for _, f := range commandFlags(ctx, "mcp") {
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
	return program, args, clientconfig.CheckCommand(program, args)
}

// commandFlags returns the flags of a command of the grammar.
func commandFlags(ctx *kong.Context, name string) []*kong.Flag {
	for _, n := range ctx.Model.Children {
		if n.Name == name {
			return n.Flags
		}
	}
	return nil
}

// variables returns the names of the variables, tokens and API keys among them, that evalctl mcp
// needs for its settings.
func (c *mcpCmd) variables(p *process) []string {
	if c.Endpoint != "" {
		return setup.Given(p.env, "SVC_TOKEN")
	}
	return c.settings().Variables(p.env)
}
