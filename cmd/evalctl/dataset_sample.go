package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/report/text"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
	"evalctl/replay/sample"
)

type datasetSampleCmd struct {
	File   string `arg:"" name:"file" help:"Dataset, a JSONL file of questions."`
	Limit  int    `name:"limit" aliases:"size" required:"" placeholder:"N" help:"Number of questions to draw."`
	Seed   uint64 `default:"1" placeholder:"N" help:"Seed; the same seed draws the same questions (${default})."`
	By     string `placeholder:"PREFIX" help:"A question belongs to the stratum of its first tag with this prefix, such as type:. Default: its first tag."`
	Min    int    `name:"min-per-stratum" default:"0" placeholder:"N" help:"Least number of questions of each stratum (${default})."`
	Output string `placeholder:"FILE" help:"File to write instead of stdout."`
}

func (datasetSampleCmd) Help() string {
	return `Draws questions in the proportions of their strata and prints their lines unchanged, in the order of
the file. A sample is the same on every machine. The strata are listed on stderr.

Examples:

  evalctl dataset sample datasets/core.jsonl --size 50 --output core-50.jsonl
  evalctl dataset sample locomo.jsonl --size 100 --seed 7 --by category: --output locomo-100.jsonl
  evalctl run --sdk go --dataset core-50.jsonl --corpus datasets/core.corpus --scorer exact
`
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

// noStratum is the stratum of questions without a tag that names one.
const noStratum = "(none)"

// stratum returns the stratum of a question.
func (c *datasetSampleCmd) stratum(q dataset.Question) string {
	for _, tag := range q.Tags {
		if name, ok := strings.CutPrefix(tag, c.By); ok {
			return name
		}
	}
	return noStratum
}

// Run draws and writes the lines.
func (c *datasetSampleCmd) Run(p *process) error {
	if c.Output != "" {
		if err := checkNew(c.Output); err != nil {
			return usageError{err}
		}
	}
	d, err := openDataset(c.File)
	if err != nil {
		return usageError{err}
	}
	var items []sample.Item
	brainOf := map[string]string{}
	for q, err := range d.Questions() {
		if err != nil {
			return err
		}
		items = append(items, sample.Item{ID: q.ID, Stratum: c.stratum(q)})
		brainOf[q.ID] = q.Brain
	}
	drawn, ids, err := sample.Draw(items, sample.Config{Size: c.Limit, Seed: c.Seed, MinPerStratum: c.Min})
	if err != nil {
		return usageError{err}
	}
	wanted, brains := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		wanted[id], brains[brainOf[id]] = true, true
	}
	documents, err := c.planDocuments(d, brains)
	if err != nil {
		return usageError{err}
	}
	if err := c.write(p, d, wanted); err != nil {
		return err
	}
	t := newTerminal(p, false)
	text.Sample(t, drawn)
	return documents.write(t, brains)
}

// write writes the lines of the wanted questions.
func (c *datasetSampleCmd) write(p *process, d dataset.Dataset, wanted map[string]bool) error {
	out, err := atomicfile.OpenOutput(c.Output, p.stdout)
	if err != nil {
		return usageError{err}
	}
	defer out.Discard()
	err = d.CopyLines(out, func(q dataset.Question) bool { return wanted[q.ID] })
	if err != nil {
		return err
	}
	return out.Keep()
}

// sampleDocuments says where the documents of a sample are. If brains have no question in it, a run
// would reject their documents, so those of the others are written.
type sampleDocuments struct {
	from string // the corpus, empty for none
	to   string // what is written, empty for nothing
	// missing is the number of brains without a question in the sample, of brains.
	missing, brains int
}

// planDocuments returns an error if documents would have to replace a file.
func (c *datasetSampleCmd) planDocuments(d dataset.Dataset, brains map[string]bool) (sampleDocuments, error) {
	all, err := d.Brains(nil)
	if err != nil {
		return sampleDocuments{}, err
	}
	s := sampleDocuments{
		from: dataset.CorpusFor(c.File), missing: len(all) - len(brains), brains: len(all),
	}
	if s.missing == 0 || c.Output == "" || !strings.HasSuffix(s.from, ".jsonl") {
		return s, nil
	}
	s.to = strings.TrimSuffix(c.Output, ".jsonl") + ".corpus.jsonl"
	return s, checkNew(s.to)
}

// write writes the documents of the brains, if that is planned, and says where they are.
func (s sampleDocuments) write(t *terminal.Terminal, brains map[string]bool) error {
	switch {
	case s.from == "":
		return nil
	case s.missing == 0:
		t.Field("documents", "--corpus %s", terminal.Line(s.from))
		return nil
	case s.to == "":
		t.Field("warning", "%d of %d brains have no question in the sample, and run rejects their documents: "+
			"give --output, and a corpus in JSONL", s.missing, s.brains)
		return nil
	}
	err := atomicfile.Write(s.to, 0o644, func(w io.Writer) error {
		return dataset.CopyDocuments(w, s.from, func(brain string) bool { return brains[cmp.Or(brain, defaultBrain)] })
	})
	if err == nil {
		t.Field("documents", "%s, those of %s", terminal.Line(s.to), count(len(brains), "brain"))
	}
	return err
}

// openDataset reads a dataset and checks only its format.
func openDataset(path string) (dataset.Dataset, error) {
	if err := dataset.CheckFile(path); err != nil {
		return dataset.Dataset{}, err
	}
	return dataset.Open(path, dataset.Options{Naming: dataset.BrainNaming{Default: defaultBrain}})
}
