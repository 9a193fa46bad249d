package main

import (
	"fmt"

	"evalctl/harness/report/text"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
	"evalctl/replay/sample"
	"evalctl/replay/source"
)

type datasetSampleCmd struct {
	File   string `arg:"" name:"file" help:"Dataset, a JSONL file of questions."`
	Limit  int    `name:"limit" aliases:"size" required:"" placeholder:"N" help:"Number of questions to draw."`
	Seed   uint64 `default:"1" placeholder:"N" help:"Seed; the same seed draws the same questions (${default})."`
	By     string `placeholder:"PREFIX" help:"A question belongs to the stratum of its first tag with this prefix, such as type:. Default: its first tag."`
	Min    int    `name:"min-per-stratum" default:"0" placeholder:"N" help:"Least number of questions of each stratum (${default})."`
	Output string `placeholder:"FILE" help:"File to write instead of stdout."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetSampleCmd) Validate() error {
	switch {
	case c.Limit < 1:
		return fmt.Errorf("--limit %d: must be at least 1", c.Limit)
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
	switch {
	case s.Copied != "":
		t.Field("documents", "%s, those of %s", terminal.Line(s.Copied), count(s.Brains-s.Missing, "brain"))
	case s.Corpus != "" && s.Missing > 0:
		t.Field("warning", "%d of %d brains have no question in the sample, and run rejects their documents: "+
			"give --output, and a corpus in JSONL", s.Missing, s.Brains)
	case s.Corpus != "":
		t.Field("documents", "--corpus %s", terminal.Line(s.Corpus))
	}
	return nil
}
