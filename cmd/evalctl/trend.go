package main

import (
	"fmt"

	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

type trendCmd struct {
	historyFlags
	Last int  `default:"30" placeholder:"N" help:"Show the last N nights of each line. 0: all of them (${default})."`
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *trendCmd) Validate() error {
	if c.Last < 0 {
		return fmt.Errorf("--last %d: must be at least 0", c.Last)
	}
	return nil
}

// Run prints the trend to stdout.
func (c *trendCmd) Run(p *process) error {
	f, err := c.folder()
	if err != nil {
		return err
	}
	trend := f.Trend(c.Last)
	if c.JSON {
		return printJSON(p, trend)
	}
	err = output(p, func(t *terminal.Terminal) {
		for _, l := range trend.Lines {
			text.Trend(t, l)
		}
	})
	if err == nil {
		text.NotInTrend(newTerminal(p, false), f, trend, c.Target)
	}
	return err
}
