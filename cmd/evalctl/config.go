package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
)

// configCmd has the flags of evalctl config.
type configCmd struct {
	Command string   `arg:"" optional:"" default:"run" help:"Command whose flags are printed: run, replay, sweep, compare, conformance or plan (${default})."`
	Flags   []string `arg:"" optional:"" passthrough:"" help:"Flags of that command, as on its command line."`
	JSON    bool     `name:"json" help:"Print one JSON object."`
}

func (configCmd) Help() string {
	return `Prints the value of every flag of a command and where it comes from. A flag on the command line wins, then
the environment, then evalctl.yaml in the current directory or the file of --config, then the default.
Secrets are masked.

Examples:

  evalctl config
  evalctl config replay
  evalctl config --json run --floor 0.8
  evalctl config --config ci/evalctl.yaml sweep
`
}

// Where the value of a flag comes from.
const (
	fromFlag        = "flag"
	fromEnvironment = "env"
	fromFile        = "file"
	fromDefault     = "default"
)

// masked replaces secrets.
const masked = "****"

// flagInForce is a flag with its value. A flag that may be repeated has a list.
type flagInForce struct {
	Flag  string `json:"flag"`
	Value any    `json:"value"`
	From  string `json:"from"`
	// Variable is set if From is env, File and Line if it is file.
	Variable string `json:"variable,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// Run prints the flags.
func (c *configCmd) Run(ctx context.Context, p *process, app *cli) error {
	if !slices.Contains(configurable, c.Command) {
		return usageError{fmt.Errorf("%q has no section in a project file; the commands are %s",
			c.Command, strings.Join(configurable, ", "))}
	}
	args := append([]string{c.Command}, c.Flags...)
	if app.Config != "" {
		args = append([]string{"--config=" + app.Config}, args...)
	}
	config := &settings{}
	flags, err := inForce(ctx, p, args, config)
	if err != nil {
		return usageError{err}
	}
	file := ""
	if config.file != nil {
		file = config.file.Path
	}
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(map[string]any{"command": c.Command, "file": file, "flags": flags})
	}
	fmt.Fprintf(p.stdout, "command %s, project file %s\n\n", c.Command, terminal.Line(cmp.Or(file, "none")))
	rows := [][]string{{"flag", "value", "from"}}
	for _, f := range flags {
		rows = append(rows, []string{"--" + f.Flag, terminal.Short(f.text(), 60), terminal.Line(f.source())})
	}
	_, err = fmt.Fprint(p.stdout, terminal.Table(rows, 3))
	return err
}

// inForce returns the flags of a command line in the order of the help. It does not check whether
// they make sense together.
func inForce(ctx context.Context, p *process, args []string, config *settings) ([]flagInForce, error) {
	command := args[slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })]
	trace, err := kong.Trace(newParser(ctx, p, &cli{}, []string{command}, kong.Resolvers(config)), args)
	for _, step := range []func() error{
		func() error { return err },
		func() error { return trace.Error },
		func() error { return trace.Reset() },
		func() error { return trace.Resolve() },
		func() error { _, err := trace.Apply(); return err },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if config.err != nil {
		return nil, config.err
	}
	given := map[*kong.Flag]bool{}
	for _, step := range trace.Path {
		if step.Flag != nil && !step.Resolved {
			given[step.Flag] = true
		}
	}
	var out []flagInForce
	for _, f := range trace.Selected().Flags {
		out = append(out, config.inForce(trace.Selected().Name, f, given[f]))
	}
	return out, nil
}

// inForce returns a flag with its source.
func (p *settings) inForce(command string, f *kong.Flag, given bool) flagInForce {
	out := flagInForce{Flag: f.Name, Value: flagText(f.Target), From: fromDefault}
	if project.SecretKey.MatchString(f.Name) && out.Value != nil && out.Value != "" {
		out.Value = masked
	}
	if url, ok := out.Value.(string); ok && postgres.IsURL(url) && postgres.HasPassword(url) {
		out.Value = masked
	}
	switch {
	case given:
		out.From = fromFlag
	case envSet(f):
		out.From = fromEnvironment
		out.Variable = f.Envs[slices.IndexFunc(f.Envs, variableSet)]
	case p.file != nil && !p.resumed:
		if s, _ := p.find(command, f); s != nil {
			out.From, out.File, out.Line = fromFile, p.file.Path, s.Line
		}
	}
	return out
}

// variableSet reports whether a variable is set, also to nothing, as kong does.
func variableSet(name string) bool {
	_, set := os.LookupEnv(name)
	return set
}

// text returns the value as on a command line.
func (f flagInForce) text() string {
	switch v := f.Value.(type) {
	case nil:
		return "-"
	case []string:
		return strings.Join(v, "  ")
	case string:
		return cmp.Or(v, "-")
	}
	return fmt.Sprint(f.Value)
}

func (f flagInForce) source() string {
	switch f.From {
	case fromEnvironment:
		return "$" + f.Variable
	case fromFile:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.From
}
