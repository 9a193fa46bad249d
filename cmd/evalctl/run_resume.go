package main

import (
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/project"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// budgetVariable is the environment variable of --max-cost-usd.
const budgetVariable = "SVC_EVAL_BUDGET_USD"

// inheritedCap is the journal's option for a cap that no flag gave. A resume uses it unless a flag
// or the variable gives another one, so that no cap is lost.
const inheritedCap = "inherited-budget-usd"

// options returns the values of all flags but those of project.NotKept, for journalOptions to read. Only
// the cap is inherited from the environment.
func (c *runCmd) options() (map[string]any, error) {
	corpus := c.Corpus
	if corpus == dataset.NoCorpus {
		corpus = ""
	}
	options, err := c.Keep(c.addPaths(map[string]string{
		"dataset": c.Dataset, "corpus": corpus, "failed-of": c.FailedOf, "baseline": c.Baseline,
	}))
	if c.fixed != nil {
		// Files of ids may be gone or changed when the run is resumed.
		delete(options, "failed-of")
		options["ids"] = c.fixed
	}
	if err == nil && !c.Given("max-cost-usd") && c.MaxCostUSD != "" {
		options[inheritedCap] = c.MaxCostUSD
	}
	return options, err
}

// journalOptions returns a resolver for the flags of the run that wrote the journal.
func (c *runCmd) journalOptions(p *process) (kong.Resolver, error) {
	j, err := journal.Open(c.Resume)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	options := map[string]any{}
	if err := json.Unmarshal(j.Options(), &options); err != nil {
		return nil, fmt.Errorf("%s: options of the run: %w", c.Resume, err)
	}
	if options["max-cost-usd"] == nil && options["budget-usd"] == nil && p.env(budgetVariable) == "" {
		options["max-cost-usd"] = options[inheritedCap]
	}
	return project.Reopened("run", options), nil
}

// printResumeHint prints how to resume a run that stopped, or to repair one that finished.
func printResumeHint(t *terminal.Terminal, c *runCmd, j *journal.Journal, res result.Result, stopped error) {
	judge := "judge"
	if c.external != nil {
		judge = "scorer"
	}
	unjudged := j.Unjudged()
	text.Resume(t, text.Resumption{
		Command: terminal.CommandLine("evalctl", "run", "--resume", j.Path()), Judge: judge,
		Stopped: res.Stopped, Storage: storageFailed(stopped),
		Unasked: res.Planned - j.Finished() - unjudged, Unjudged: unjudged, Failed: j.Outages(),
		Cost: res.Cost, Limit: c.budget, Free: c.scorer.Offline != nil,
	})
}

// continuing returns how what was stopped is continued, see text.Continuing.
func continuing(stopped error, judge string) (how, more string) {
	return text.Continuing(harness.StopReason(stopped), storageFailed(stopped), judge)
}

// printResumeAfterDisk says how a run is continued whose journal or result the disk did not take.
func printResumeAfterDisk(t *terminal.Terminal, err error, how string) {
	if storageFailed(err) {
		t.Field("resume", "no results are lost; once the files can be written, continue with: %s", how)
	}
}
