package main

import (
	"context"
	"slices"
)

// helpCmd is another spelling of --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"Command, such as run or keys create."`
}

// Run prints the help and ends the process, as --help does.
func (c *helpCmd) Run(ctx context.Context, p *process) error {
	asked := *p
	asked.args = append(slices.Clone(c.Command), "--help")
	if _, err := parse(ctx, &asked, &cli{}); err != nil {
		return usageError{err}
	}
	return nil
}
