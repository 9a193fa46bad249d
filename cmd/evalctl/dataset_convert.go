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

func (datasetConvertCmd) Help() string {
	return `Converts a table (CSV, TSV), YAML, a JSON array, LongMemEval or LoCoMo to JSONL. The header of a table,
or the keys of the objects, name the fields: id, question, expected_substrings and so on. Usual other
names, such as Answer for reference_answer, are recognised and reported. In a table a list is a JSON
array, or texts with ; between them. A table of documents, with path and text, becomes a corpus.

LongMemEval and LoCoMo become questions and, in <output>.corpus.jsonl, a corpus with one document per
session, in one brain per haystack. It replaces nothing, and what it writes can be used by run.

Examples:

  evalctl dataset convert questions.csv --output questions.jsonl
  evalctl dataset convert documents.csv --output questions.corpus.jsonl
  evalctl dataset convert locomo10.json --output locomo.jsonl
`
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
