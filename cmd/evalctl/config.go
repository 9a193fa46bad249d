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
	"evalctl/internal/terminal"
)

// configCmd has the flags of evalctl config.
type configCmd struct {
	Command string   `arg:"" optional:"" default:"run" help:"Command whose flags are printed: run, replay, sweep, compare, conformance, plan or bench (${default})."`
	Flags   []string `arg:"" optional:"" passthrough:"" help:"Flags of that command, as on its command line."`
	JSON    bool     `name:"json" help:"Print one JSON object."`
}

// Run prints the flags.
func (c *configCmd) Run(ctx context.Context, p *process, app *cli) error {
	if !slices.Contains(configurable, c.Command) {
		return fmt.Errorf("%q has no section in a project file; the commands are %s",
			c.Command, strings.Join(configurable, ", "))
	}
	args := append([]string{c.Command}, c.Flags...)
	if app.Config != "" {
		args = append([]string{"--config=" + app.Config}, args...)
	}
	config := &settings{}
	flags, err := inForce(ctx, p, args, config)
	if err != nil {
		return err
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
		rows = append(rows, []string{"--" + f.Flag, terminal.Short(f.Text(), 60), terminal.Line(f.Source())})
	}
	_, err = fmt.Fprint(p.stdout, terminal.Table(rows, 3))
	return err
}

// inForce returns the flags of a command line in the order of the help. It does not check whether
// they make sense together.
func inForce(ctx context.Context, p *process, args []string, config *settings) ([]project.InForce, error) {
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
	var out []project.InForce
	for _, f := range trace.Selected().Flags {
		out = append(out, config.inForce(trace.Selected().Name, f, given[f]))
	}
	return out, nil
}

// inForce returns a flag with its source.
func (p *settings) inForce(command string, f *kong.Flag, given bool) project.InForce {
	out := project.InForce{Flag: f.Name, Value: project.Masked(f.Name, flagText(f.Target)), From: project.FromDefault}
	switch {
	case given:
		out.From = project.FromFlag
	case envSet(f):
		out.From = project.FromEnvironment
		out.Variable = f.Envs[slices.IndexFunc(f.Envs, variableSet)]
	case p.file != nil && !p.resumed:
		if s := p.find(command, f); s != nil {
			out.From, out.File, out.Line = project.FromFile, p.file.Path, s.Line
		}
	}
	return out
}

// variableSet reports whether a variable is set, also to nothing, as kong does.
func variableSet(name string) bool {
	_, set := os.LookupEnv(name)
	return set
}
