package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"evalctl/daemon"
	"evalctl/daemon/setup"
	"evalctl/internal/clientconfig"
	"evalctl/internal/terminal"
)

type mcpInstallCmd struct {
	Client string `arg:"" optional:"" help:"Client to configure. Without it, the clients are listed."`
	Name   string `default:"evalctl" help:"Name of the entry (${default})."`
	File   string `placeholder:"FILE" help:"Configuration file, for example that of a project. Default: that of the user; for claude-code, .mcp.json."`
	Write  bool   `help:"Edit the file. Without it, the configuration is printed."`
}

func (mcpInstallCmd) Help() string {
	return `Prints what makes a client start evalctl mcp, or adds it to the client's configuration with --write.
Without a client, it lists the clients, their files, and whether they have the entry.

The flags of evalctl mcp, from this command line and from the environment, become arguments of the
entry. Tokens and API keys never do: the client must pass them on as variables.

--write changes nothing else in the file, keeps a copy of it, and does nothing if the entry is there
already. An entry of the same name that differs is an error: remove it, or set --name.

Examples:

  evalctl mcp install
  evalctl mcp install claude-desktop --write
  evalctl mcp install cursor --default-brain work --write
  evalctl mcp install vscode --file .vscode/mcp.json --endpoint http://127.0.0.1:8787 --write
`
}

// Run prints or writes the configuration of a client, or lists the clients.
func (c *mcpInstallCmd) Run(p *process, ctx *kong.Context, parent *mcpCmd) error {
	if err := c.run(p, ctx, parent); err != nil {
		return usageError{err}
	}
	return nil
}

func (c *mcpInstallCmd) run(p *process, ctx *kong.Context, parent *mcpCmd) error {
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
		return c.list(p, program, args)
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
		return c.write(p, client, path, entry, variables)
	}
	fmt.Fprintf(p.stderr, "%s reads %s:\n\n", client.Name, terminal.Line(path))
	fmt.Fprint(p.stdout, client.Snippet(c.Name, entry))
	fmt.Fprintf(p.stderr, "\n--write adds this entry to the file.")
	if add := client.Command(c.Name, entry); add != "" {
		fmt.Fprintf(p.stderr, " For all projects:\n\n  %s\n", add)
	} else {
		fmt.Fprintln(p.stderr)
	}
	remind(p, client, variables)
	return nil
}

// write adds the entry to the file and prints what it changed.
func (c *mcpInstallCmd) write(p *process, client clientconfig.Client, path string, entry clientconfig.Entry, variables []string) error {
	change, err := client.Add(path, c.Name, entry)
	if err != nil {
		return err
	}
	file := terminal.Line(change.Path)
	if len(change.Lines) == 0 {
		_, err := fmt.Fprintf(p.stdout, "%s is unchanged: it has the entry %q\n", file, c.Name)
		return err
	}
	fmt.Fprintf(p.stdout, "%s\n", file)
	for _, line := range change.Lines {
		fmt.Fprintf(p.stdout, "  %s\n", terminal.Line(line))
	}
	if change.Backup != "" {
		fmt.Fprintf(p.stdout, "copy of the old file: %s\n", terminal.Line(change.Backup))
	}
	fmt.Fprintln(p.stderr, client.Then)
	remind(p, client, variables)
	return nil
}

// remind names the variables that the client must pass on.
func remind(p *process, client clientconfig.Client, variables []string) {
	if len(variables) == 0 {
		return
	}
	or := ""
	if client.HasEnv() {
		or = `, or in the "env" of the entry if only you can read the file`
	}
	fmt.Fprintf(p.stderr, "%s must pass these variables on: %s. Set them in its environment%s.\n",
		client.Name, strings.Join(variables, ", "), or)
}

// list prints the clients, their files, and whether they have the entry.
func (c *mcpInstallCmd) list(p *process, program string, args []string) error {
	where, err := clientconfig.FindPlaces(runtime.GOOS, p.env)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLIENT\tENTRY\tFILE")
	for _, client := range clientconfig.Clients() {
		path := client.File(where)
		state := client.State(path, c.Name, client.Entry(program, args, nil))
		fmt.Fprintf(w, "%s\t%s\t%s\n", client.ID, state, terminal.Line(path))
	}
	return w.Flush()
}

// command returns the command that starts evalctl mcp with the settings of this process.
func (c *mcpCmd) command(p *process, ctx *kong.Context) (program string, args []string, err error) {
	program, err = os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("path of this program: %w", err)
	}
	if goRun.MatchString(filepath.ToSlash(program)) {
		return "", nil, errors.New("go run deletes the program when it ends: " +
			"install it with go install ./cmd/evalctl, and run that one")
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
		switch value, _ := flagText(f.Target).(string); {
		case value == "" || value == cmp.Or(f.Default, "false"):
		case f.IsBool():
			args = append(args, "--"+f.Name)
		default:
			add(f.Name, value)
		}
	}
	for _, word := range append(args, program) {
		if !utf8.ValidString(word) {
			return "", nil, fmt.Errorf("%q is not valid UTF-8, which the files of clients must be", word)
		}
	}
	return program, args, nil
}

// goRun matches the path of a program that go run has built.
var goRun = regexp.MustCompile(`/go-build\d+/`)

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
