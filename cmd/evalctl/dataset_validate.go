package main

import (
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/harness/report/text"
	"evalctl/harness/target"
	"evalctl/internal/terminal"
)

type datasetValidateCmd struct {
	datasetFile
	Scorer string `enum:",${scorers}" default:"" help:"Check that this scorer can score every question: ${scorers}. Default: check only the format."`
	TopK   int    `name:"top-k" default:"5" help:"Number of passages of the run (${default})."`
	JSON   bool   `name:"json" help:"Print the report as one JSON object."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetValidateCmd) Validate() error {
	if limit := target.Scenarios()[0].MaxTopK; c.TopK < 1 || c.TopK > limit {
		return fmt.Errorf("--top-k %d: must be from 1 to %d", c.TopK, limit)
	}
	return nil
}

// Run checks and reports.
func (c *datasetValidateCmd) Run(p *process) error {
	in, err := dataset.Validate(c.spec(), c.Scorer, c.TopK)
	if c.JSON {
		if err := printJSON(p, in.Report(c.File, text.Ignored(in), err)); err != nil {
			return err
		}
	} else if in.Dataset.Path != "" {
		if err := output(p, func(t *terminal.Terminal) { text.Inputs(t, c.File, in); text.Usable(t, in.Needs) }); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("%w\n%s cannot be used", err, c.File)
	}
	if !c.JSON {
		_, err = fmt.Fprintf(p.stdout, "%s can be used\n", terminal.Line(c.File))
	}
	return err
}
