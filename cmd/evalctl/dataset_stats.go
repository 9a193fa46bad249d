package main

import (
	"evalctl/harness/dataset"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

type datasetStatsCmd struct {
	datasetFile
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run prints the figures.
func (c *datasetStatsCmd) Run(p *process) error {
	if err := dataset.CheckFile(c.File); err != nil {
		return err
	}
	in, err := dataset.Load(c.spec())
	if err != nil {
		return err
	}
	s, err := in.Describe()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(p, s)
	}
	return output(p, func(t *terminal.Terminal) { text.Description(t, s, in) })
}
