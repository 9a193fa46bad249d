package main

import (
	"fmt"

	"evalctl/harness/compare"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

type diffCmd struct {
	ID    string   `arg:"" name:"qid" help:"Id of the question."`
	Files []string `arg:"" name:"file" help:"Result files, or runs in JSON lines."`
}

// Run shows the question on stdout.
func (c *diffCmd) Run(p *process) error {
	if len(c.Files) < 2 {
		return fmt.Errorf("only %s is given: name a second result to show beside it", c.Files[0])
	}
	found, err := compare.FindAll(c.Files, c.ID)
	if err != nil {
		return err
	}
	return output(p, func(t *terminal.Terminal) { text.Diff(t, found) })
}
