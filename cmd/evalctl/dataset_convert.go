package main

import (
	"context"
	"fmt"
	"strings"

	"evalctl/internal/terminal"
	"evalctl/replay/source"
)

type datasetConvertCmd struct {
	File   string `arg:"" name:"file" help:"File to convert."`
	Output string `required:"" placeholder:"FILE" help:"JSONL file to write."`
	Format string `enum:"auto,csv,tsv,yaml,json,${benchmarks}" default:"auto" help:"Format of the file: ${enum}."`
	Seed   uint64 `name:"option-seed" placeholder:"N" help:"Seed of the order of options in multiple-choice questions. Default: 0."`
}

// Run converts, and says what was written on stdout.
func (c *datasetConvertCmd) Run(ctx context.Context, p *process) error {
	format := c.Format
	if format == "auto" {
		format = ""
	}
	out, err := source.Convert(ctx, c.File, c.Output, source.Options{Format: source.Format(format), OptionSeed: c.Seed})
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
