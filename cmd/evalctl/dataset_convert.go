package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/atomicfile"
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

// Run converts.
func (c *datasetConvertCmd) Run(ctx context.Context, p *process) error {
	if err := checkNew(c.Output); err != nil {
		return usageError{err}
	}
	format, err := c.format()
	if err != nil {
		return usageError{err}
	}
	if format.IsBenchmark() {
		err = c.benchmark(ctx, p, source.Format(format))
	} else {
		err = c.table(p, format)
	}
	if err != nil && ctx.Err() == nil {
		return usageError{err}
	}
	return err
}

// format returns the format of the file, by its content unless a flag says it.
func (c *datasetConvertCmd) format() (dataset.Format, error) {
	if err := checkRegular(c.File); err != nil {
		return "", err
	}
	f, err := os.Open(c.File)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if c.Format != "auto" {
		return dataset.Format(c.Format), nil
	}
	switch format := dataset.DetectIn(f); format {
	case dataset.JSONL:
		return "", fmt.Errorf("%s is JSONL already; check it with: evalctl dataset validate FILE. "+
			"If it is another kind of JSON, give --format json", c.File)
	case "":
		return "", fmt.Errorf("%s: the format cannot be recognised by the content: a table needs a header "+
			"with id and question, or path and text. Give --format if it is right", c.File)
	default:
		return format, nil
	}
}

// checkRegular returns an error for what is not a file.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return err
}

// table converts a file of questions or documents.
func (c *datasetConvertCmd) table(p *process, format dataset.Format) error {
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	out, err := dataset.Convert(c.File, data, format)
	if err != nil {
		return err
	}
	err = atomicfile.Write(c.Output, 0o644, func(w io.Writer) error {
		_, err := w.Write(out.Lines)
		return err
	})
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	if len(out.Renamed) > 0 {
		t.Field("renamed", "%s", terminal.Line(strings.Join(out.Renames(), ", ")))
	}
	if out.Numbered {
		t.Field("note", "the file has no ids: the questions are q1 to q%d, in the order of the file", out.Count)
	}
	what := "question"
	if out.Documents {
		what = "document"
	}
	return c.wrote(p, c.Output, count(out.Count, what))
}

// wrote says what was written, on stdout.
func (c *datasetConvertCmd) wrote(p *process, path, what string) error {
	_, err := fmt.Fprintf(p.stdout, "%s  %s\n", terminal.Line(path), what)
	return err
}

// benchmark converts LongMemEval or LoCoMo.
func (c *datasetConvertCmd) benchmark(ctx context.Context, p *process, format source.Format) error {
	corpus := strings.TrimSuffix(c.Output, ".jsonl") + ".corpus.jsonl" // where run finds it
	if err := checkNew(corpus); err != nil {
		return err
	}
	b, err := source.Open(ctx, c.File, source.Options{Format: format})
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // it was only read
	documents, err := b.Convert(ctx, c.Output, corpus)
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	for _, trap := range b.Report.Traps {
		t.Field("note", "%s: %s (%d)", trap.Kind, trap.Handling, trap.Count)
	}
	return errors.Join(c.wrote(p, c.Output, count(len(b.Questions), "question")),
		c.wrote(p, corpus, fmt.Sprintf("%s in %s", count(documents, "document"), count(len(b.Infos()), "brain"))))
}
