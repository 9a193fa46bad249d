package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// budgetVariable is the environment variable of --max-cost-usd.
const budgetVariable = "SVC_EVAL_BUDGET_USD"

// inheritedCap is the journal's option for a cap that no flag gave. A resume uses it unless a flag
// or the variable gives another one, so that no cap is lost.
const inheritedCap = "inherited-budget-usd"

// options returns the values of all flags but those of notKept, for journalOptions to read. Only
// the cap is inherited from the environment.
func (c *runCmd) options() (map[string]any, error) {
	corpus := c.Corpus
	if corpus == dataset.NoCorpus {
		corpus = ""
	}
	options, err := c.kept(c.addPaths(map[string]string{
		"dataset": c.Dataset, "corpus": corpus, "failed-of": c.FailedOf, "baseline": c.Baseline,
	}))
	if c.fixed != nil {
		// Files of ids may be gone or changed when the run is resumed.
		delete(options, "failed-of")
		options["ids"] = c.fixed
	}
	if err == nil && !c.given["max-cost-usd"] && c.MaxCostUSD != "" {
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
	return resolverOf("run", options), nil
}

// printResumeHint prints how to resume a run that stopped, or to repair one that finished with failures
// that another try may not have. It says what a resume does and what it does not do.
func printResumeHint(t *terminal.Terminal, c *runCmd, j *journal.Journal, res result.Result, stopped error) {
	command := terminal.CommandLine("evalctl", "run", "--resume", j.Path())
	failed := j.Outages()
	if res.Stopped == "" {
		if failed > 0 {
			t.Field("resume", "%s failed without an answer of the daemon or the judge; once that is repaired, try only %s again with: %s --retry-errors",
				count(failed, "question"), themOrIt(failed), command)
		}
		return
	}
	judge := "judge"
	if c.external != nil {
		judge = "scorer"
	}
	how, more := continuing(stopped, judge)
	t.Field("resume", "no results are lost; %s: %s%s", how, command, more)
	unjudged := j.Unjudged()
	t.Field("", "%s", text.Rest{
		Unasked: res.Planned - j.Finished() - unjudged, Unjudged: unjudged,
		Failed: failed, Retried: more == " --retry-errors",
	})
	if c.scorer.Offline == nil || res.Cost.SpentUSD != 0 || res.Cost.UnpricedModel != "" {
		t.Field("", "%s", text.MoneyLeft(res.Cost, c.budget))
	}
}

// continuing returns how what was stopped is continued: what comes before the command, and what is
// added to it. judge is what gives the verdicts.
func continuing(stopped error, judge string) (how, more string) {
	switch {
	case storageFailed(stopped):
		return "once the files can be written, continue with", ""
	case errors.Is(stopped, llm.ErrBudgetExceeded):
		return "continue with", " --max-cost-usd <more>"
	case errors.Is(stopped, harness.ErrMaxFailures):
		return "continue with", " --max-failures <more>"
	case errors.Is(stopped, harness.ErrMode):
		return "once the daemon runs that mode, continue with", ""
	case errors.Is(stopped, harness.ErrNoWorkers):
		return "once a worker can take the questions, continue with", ""
	case errors.As(stopped, new(*harness.SystematicError)):
		return "once the cause is repaired, continue with", " --retry-errors"
	case errors.Is(stopped, harness.ErrControls), errors.Is(stopped, scorer.ErrUnusable):
		return "once the " + judge + " is in order, continue with", ""
	}
	return "continue with", ""
}

// printResumeAfterDisk says how a run is continued whose journal or result the disk did not take.
func printResumeAfterDisk(t *terminal.Terminal, err error, how string) {
	if storageFailed(err) {
		t.Field("resume", "no results are lost; once the files can be written, continue with: %s", how)
	}
}

func themOrIt(n int) string {
	if n == 1 {
		return "it"
	}
	return "these"
}
