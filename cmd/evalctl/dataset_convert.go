package main

import (
	"context"
	"fmt"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/terminal"
	"evalctl/replay/source"
)

type datasetConvertCmd struct {
	File   string `arg:"" name:"file" help:"File to convert."`
	Output string `required:"" placeholder:"FILE" help:"JSONL file to write."`
	Format string `enum:"auto,csv,tsv,yaml,json,${benchmarks}" default:"auto" help:"Format of the file: ${enum}."`
}

// Run converts, and says what was written on stdout.
func (c *datasetConvertCmd) Run(ctx context.Context, p *process) error {
	format := dataset.Format(c.Format)
	if c.Format == "auto" {
		format = ""
	}
	out, err := source.Convert(ctx, c.File, c.Output, format)
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	if len(out.Renamed) > 0 {
		t.Field("renamed", "%s", terminal.Line(strings.Join(out.Renamed, ", ")))
	}
	for _, note := range out.Notes {
		t.Field("note", "%s", note)
	}
	for _, w := range out.Written {
		if _, err := fmt.Fprintf(p.stdout, "%s  %s\n", terminal.Line(w.Path), w.Content); err != nil {
			return err
		}
	}
	return nil
}
