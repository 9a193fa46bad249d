package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

type datasetValidateCmd struct {
	datasetFile
	Scorer string `enum:",${scorers}" default:"" help:"Check that this scorer can score every question: ${scorers}. Default: check only the format."`
	TopK   int    `name:"top-k" default:"5" help:"Number of passages of the run (${default})."`
	JSON   bool   `name:"json" help:"Print the report as one JSON object."`
}

func (datasetValidateCmd) Help() string {
	return `Checks everything that run checks before it starts a daemon, and lists what is wrong with file and
line. The exit code is 0 if the dataset can be used, and else 2.

Examples:

  evalctl dataset validate datasets/core.jsonl
  evalctl dataset validate datasets/core.jsonl --scorer exact
  evalctl dataset validate mine.jsonl --corpus notes/ --json
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetValidateCmd) Validate() error {
	if limit := target.Scenarios()[0].MaxTopK; c.TopK < 1 || c.TopK > limit {
		return fmt.Errorf("--top-k %d: must be from 1 to %d", c.TopK, limit)
	}
	return nil
}

// datasetReport is the JSON of validate.
type datasetReport struct {
	Dataset  string           `json:"dataset"`
	Valid    bool             `json:"valid"`
	Errors   []datasetProblem `json:"errors"`
	Warnings []string         `json:"warnings"`
	// The rest is missing if the dataset cannot be read.
	Questions int                  `json:"questions,omitempty"`
	SHA256    string               `json:"sha256,omitempty"`
	Has       map[scorer.Need]int  `json:"has,omitempty"`
	Tags      map[string]int       `json:"tags,omitempty"`
	Corpus    string               `json:"corpus,omitempty"`
	Documents int                  `json:"documents,omitempty"`
	Brains    []datasetReportBrain `json:"brains,omitempty"`
	Unknown   map[string]int       `json:"unknown_fields,omitempty"`
}

type datasetReportBrain struct {
	Name      string `json:"name"`
	Questions int    `json:"questions"`
	Documents int    `json:"documents"`
}

// Run checks and reports.
func (c *datasetValidateCmd) Run(p *process) error {
	pl, err := c.check()
	if c.JSON {
		if err := printJSON(p, c.report(pl, err)); err != nil {
			return err
		}
	} else if pl.dataset.Path != "" {
		if err := output(p, func(t *terminal.Terminal) { printInputs(t, c.File, pl); printUsable(t, pl) }); err != nil {
			return err
		}
	}
	if err != nil {
		return usageError{fmt.Errorf("%w\n%s cannot be used", err, c.File)}
	}
	if !c.JSON {
		_, err = fmt.Fprintf(p.stdout, "%s can be used\n", terminal.Line(c.File))
	}
	return err
}

// check does what a run does before it needs a daemon. What could be read is in the plan.
func (c *datasetValidateCmd) check() (*plan, error) {
	run := runCmd{targetFlags: c.target(), TopK: c.TopK, Scorer: c.Scorer, scenario: target.Scenarios()[0]}
	pl := &plan{}
	if err := checkFile(c.File); err != nil {
		return pl, err
	}
	var scores scorer.Scorer
	if c.Scorer != "" {
		var err error
		if run.scorer, err = scorer.Find(c.Scorer); err != nil {
			return pl, err
		}
		scores = checker(run.scorer, c.TopK)
	}
	err := run.planInput(pl, func(q dataset.Question) error {
		item := q.Item()
		pl.needs.add(item)
		if scores == nil {
			return run.scenario.Check(q)
		}
		return cmp.Or(run.scenario.Check(q), ignoreNoGold(scores.Check(item)))
	})
	if err != nil {
		if c.Scorer != "" {
			err = pl.needs.explain(c.File, run.scorer, err)
		}
		if pl.dataset.Path == "" { // the corpus has not been read
			err = errors.Join(err, run.planCorpus(&plan{}))
		}
		return pl, err
	}
	return pl, run.planGold(pl)
}

// checker returns a scorer for its Check only.
func checker(k scorer.Kind, topK int) scorer.Scorer {
	if k.Offline != nil {
		return k.Offline(scorer.Options{TopK: topK})
	}
	return new(scorer.Judge)
}

// printUsable prints for each scorer how many questions it can score.
func printUsable(t *terminal.Terminal, pl *plan) {
	var parts []string
	for _, k := range scorer.Kinds() {
		parts = append(parts, fmt.Sprintf("%s %d of %d", k.Name, pl.needs.has[k.Needs], pl.needs.total))
	}
	t.Field("scorers", "%s", strings.Join(parts, "  "))
}

// report returns the JSON of the outcome.
func (c *datasetValidateCmd) report(pl *plan, err error) datasetReport {
	d := pl.dataset
	r := datasetReport{
		Dataset: c.File, Valid: err == nil, Errors: problems(err), Warnings: []string{},
		Questions: d.Total, SHA256: d.SHA256, Has: pl.needs.has, Tags: d.Tags, Unknown: d.Unknown,
	}
	if pl.corpus != nil {
		r.Corpus, r.Documents = pl.corpus.Path, len(pl.corpus.Docs)
		if u := pl.corpus.Unknown; len(u) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: unknown fields are ignored: %s",
				pl.corpus.Path, keyCounts(u)))
		}
	}
	if len(d.Unknown) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: unknown fields are ignored: %s",
			d.Path, keyCounts(d.Unknown)))
	}
	for _, w := range pl.gold.Warnings {
		r.Warnings = append(r.Warnings, w.Message)
	}
	for _, b := range pl.brains {
		r.Brains = append(r.Brains, datasetReportBrain{b.Name, b.Questions, len(b.Docs)})
	}
	return r
}
