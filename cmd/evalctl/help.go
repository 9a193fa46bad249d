package main

import (
	"context"
	"slices"
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
		return usageError{err}
	}
	return nil
}
