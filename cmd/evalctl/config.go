package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
)

// configCmd has the flags of evalctl config.
type configCmd struct {
	Command string   `arg:"" optional:"" default:"run" help:"Command whose flags are printed: run, run sweep, run plan, replay, compare, conformance or bench (${default})."`
	Flags   []string `arg:"" optional:"" passthrough:"" help:"Flags of that command, as on its command line."`
	JSON    bool     `name:"json" help:"${about_json}"`
}

// Run prints the flags.
func (c *configCmd) Run(ctx context.Context, p *process, app *cli) error {
	args := joined(append([]string{c.Command}, c.Flags...))
	i := slices.IndexFunc(project.Commands, func(name string) bool { return name == args[0] || project.Section(name) == args[0] })
	if i < 0 {
		return fmt.Errorf("%q has no section in a project file; the commands are %s",
			c.Command, strings.Join(project.Commands, ", "))
	}
	args[0] = project.Commands[i]
	if app.Config != "" {
		args = append([]string{"--config=" + app.Config}, args...)
	}
	config := resolver()
	flags, err := inForce(ctx, p, args, config)
	if err != nil {
		return err
	}
	file := ""
	if config.File != nil {
		file = config.File.Path
	}
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(map[string]any{"command": project.Commands[i], "file": file, "flags": flags})
	}
	_, err = io.WriteString(p.stdout, project.Table(project.Commands[i], file, flags))
	return err
}

// resolver returns what sets flags from the project file.
func resolver() *project.Resolver {
	return &project.Resolver{
		Grammar: func() *kong.Node { return grammar(project.Commands) },
		Set: func(variable string) bool {
			_, set := os.LookupEnv(variable)
			return set
		},
	}
}

// inForce returns the flags of a command line. It does not check whether they make sense together.
func inForce(ctx context.Context, p *process, args []string, config *project.Resolver) ([]project.InForce, error) {
	command := args[slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })]
	trace, err := kong.Trace(newParser(ctx, p, &cli{}, []string{command}, kong.Resolvers(config)), args)
	for _, step := range []func() error{
		func() error { return err },
		func() error { return trace.Error },
		func() error { return trace.Reset() },
		func() error { return trace.Resolve() },
		func() error { _, err := trace.Apply(); return err },
		func() error { return config.Err },
	} {
		if err := step(); err != nil && trace != nil {
			return nil, plainly(trace, err)
		} else if err != nil {
			return nil, err
		}
	}
	return config.InForce(trace), nil
}
