package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCmd is equivalent to --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"Command, for example run or keys create."`
}

// Run prints the help and ends the process, as --help does.
func (c *helpCmd) Run(ctx context.Context, p *process) error {
	withHelp := *p
	withHelp.args = append(slices.Clone(c.Command), "--help")
	if _, err := parse(ctx, &withHelp, &cli{}); err != nil {
		return fmt.Errorf("%w; the commands are %s", err, strings.Join(commandNames(grammar(nil)), ", "))
	}
	return nil
}

// commandNames returns the names of the commands, in the order of the help.
func commandNames(app *kong.Node) []string {
	var names []string
	for _, c := range app.Children {
		switch {
		case c.Hidden:
			continue
		case len(c.Children) == 0 || c.DefaultCmd != nil:
			names = append(names, c.Path())
		}
		names = append(names, commandNames(c)...)
	}
	return names
}

// noCommand prints the help to stderr and returns the error of a command line without arguments.
func noCommand(ctx context.Context, p *process) error {
	withHelp := *p
	withHelp.args, withHelp.stdout = []string{"--help"}, p.stderr
	// The error only repeats that a command is missing.
	_, _ = parse(ctx, &withHelp, &cli{}, kong.Exit(func(int) {}))
	return errors.New("no command")
}
