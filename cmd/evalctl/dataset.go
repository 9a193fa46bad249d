package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"evalctl/docs"
	"evalctl/harness/dataset"
	"evalctl/harness/report/text"
	"evalctl/harness/target"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
	"evalctl/replay/sample"
	"evalctl/replay/source"
)

type datasetCmd struct {
	Check   datasetCheckCmd   `cmd:"" help:"Check a dataset as run does, and describe it. No daemon is started."`
	Sample  datasetSampleCmd  `cmd:"" help:"Draw a stratified sample of the questions."`
	Convert datasetConvertCmd `cmd:"" help:"Convert another format to JSONL."`
	Fetch   datasetFetchCmd   `cmd:"" help:"Download a published benchmark."`
}

// writeJSON writes one indented JSON value.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// output writes a report that is the output of a command to stdout, and returns the first error of
// writing.
func output(p *process, write func(t *terminal.Terminal)) error {
	return terminal.New(p.stdout, p.env, false).Buffered(write)
}

// show writes v to stdout as one JSON object on a line, or a report of it.
func show(p *process, asJSON bool, v any, write func(t *terminal.Terminal)) error {
	if asJSON {
		return json.NewEncoder(p.stdout).Encode(v)
	}
	return output(p, write)
}

// datasetCheckCmd has the flags of evalctl dataset check.
type datasetCheckCmd struct {
	File     string `arg:"" optional:"" name:"file" help:"Dataset, a JSONL file of questions."`
	Corpus   string `placeholder:"PATH" help:"${about_corpus}"`
	Brain    string `default:"eval" help:"Brain of the questions and documents that do not name one (${default})."`
	BrainTag string `name:"brain-tag" placeholder:"TAG" help:"${about_brain_tag}"`
	Scorer   string `enum:",${scorers}" default:"" placeholder:"SCORER" help:"${about_scorer}."`
	TopK     int    `name:"top-k" default:"5" placeholder:"N" help:"${about_top_k} (${default})."`
	JSON     bool   `name:"json" help:"${about_json}"`
	Schema   string `enum:",questions,corpus,result,sweep,bench,table,mapping,notice" default:"" placeholder:"KIND" help:"Only print the JSON Schema of a kind of file: questions, corpus, result, sweep, bench, table, mapping or notice."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetCheckCmd) Validate() error {
	if limit := target.Scenarios()[0].MaxTopK; c.TopK < 1 || c.TopK > limit {
		return fmt.Errorf("--top-k %d: must be from 1 to %d", c.TopK, limit)
	}
	if c.Schema != "" && c.File != "" {
		return fmt.Errorf("--schema prints a schema and checks nothing: leave out %s", c.File)
	}
	if c.Schema == "" && c.File == "" {
		return errors.New(`"<file>" is missing on the command line: name the dataset, or a schema to print with --schema`)
	}
	return nil
}

// Run checks the dataset and describes it, or prints a schema.
func (c *datasetCheckCmd) Run(p *process) error {
	if c.Schema != "" {
		return printSchema(p, c.Schema)
	}
	in, err := dataset.Validate(dataset.Spec{Path: c.File, Corpus: c.Corpus, Options: dataset.Options{
		Naming: dataset.BrainNaming{Default: c.Brain, Tag: c.BrainTag}, Check: target.Scenarios()[0].Check,
	}}, c.Scorer, c.TopK)
	var described *dataset.Description
	if err == nil {
		d, problem := in.Describe()
		described, err = &d, problem
	}
	if c.JSON {
		if err := writeJSON(p.stdout, in.Report(c.File, text.Ignored(in), described, err)); err != nil {
			return err
		}
	} else if in.Dataset.Path != "" {
		if err := output(p, func(t *terminal.Terminal) { text.Checked(t, c.File, in, described) }); err != nil {
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

// printSchema prints the JSON Schema of a kind of file.
func printSchema(p *process, kind string) error {
	if kind == "questions" {
		kind = "dataset"
	}
	data, err := docs.Schemas.ReadFile(kind + ".schema.json")
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(data)
	return err
}

type datasetSampleCmd struct {
	File   string `arg:"" name:"file" help:"Dataset, a JSONL file of questions."`
	Limit  int    `name:"sample-size" aliases:"limit,size" required:"" placeholder:"N" help:"Draw at most N questions, in the proportions of their types."`
	Seed   uint64 `default:"1" placeholder:"N" help:"${about_seed} (${default})."`
	By     string `placeholder:"PREFIX" help:"The stratum of a question is its first tag with this prefix, such as type:. Default: its first tag."`
	Min    int    `name:"min-per-stratum" default:"0" placeholder:"N" help:"${about_min_per_stratum} (${default})."`
	Output string `placeholder:"FILE" help:"${about_output}."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetSampleCmd) Validate() error {
	switch {
	case c.Limit < 1:
		return fmt.Errorf("--sample-size %d: must be at least 1", c.Limit)
	case c.Min < 0:
		return fmt.Errorf("--min-per-stratum %d: must not be negative", c.Min)
	}
	return nil
}

// Run draws and writes the lines.
func (c *datasetSampleCmd) Run(p *process) error {
	s, err := source.DrawSubset(c.File, c.Output, defaultBrain, c.By, sample.Config{Size: c.Limit, Seed: c.Seed, MinPerStratum: c.Min})
	if err != nil {
		return err
	}
	out, err := atomicfile.OpenOutput(c.Output, p.stdout)
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := s.WriteQuestions(out); err != nil {
		return err
	}
	if err := out.Keep(); err != nil {
		return err
	}
	t := newTerminal(p, false)
	text.Sample(t, s.Sample)
	if err := s.WriteDocuments(); err != nil {
		return err
	}
	if field, about := s.Documents(); about != "" {
		t.Field(field, "%s", terminal.Line(about))
	}
	return nil
}
