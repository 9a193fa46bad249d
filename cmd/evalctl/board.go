package main

import (
	"errors"
	"fmt"

	"evalctl/harness/board"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

type boardCmd struct {
	historyFlags
	HTML string `name:"html" placeholder:"FILE" help:"Also write the board as an HTML page, and the page of each result into a folder next to it."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Run prints the board to stdout, and what is not in it to stderr.
func (c *boardCmd) Run(p *process) error {
	if c.HTML == "-" {
		return errors.New("--html: the pages of the results need a folder: name a file")
	}
	f, err := c.folder()
	if err != nil {
		return err
	}
	b, err := board.New(f)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := report.WriteBoard(c.HTML, b); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if c.JSON {
		return printJSON(p, b)
	}
	if err := output(p, func(t *terminal.Terminal) { text.Board(t, b) }); err != nil {
		return err
	}
	text.NotRanked(newTerminal(p, false), b, c.Dir)
	return nil
}
