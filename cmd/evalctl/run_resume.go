package main

import (
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"

	"evalctl/harness/journal"
)

// budgetVariable is the environment variable of --budget-usd.
const budgetVariable = "SVC_EVAL_BUDGET_USD"

// inheritedCap is the journal's option for a cap that no flag gave. A resume uses it unless a flag
// or the variable gives another one, so that no cap is lost.
const inheritedCap = "inherited-budget-usd"

// options returns the values of all flags but those of notKept, for journalOptions to read. Only
// the cap is inherited from the environment.
func (c *runCmd) options() (map[string]any, error) {
	corpus := c.Corpus
	if corpus == noCorpus {
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
	if err == nil && !c.given["budget-usd"] && c.BudgetUSD != "" {
		options[inheritedCap] = c.BudgetUSD
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
	if options["budget-usd"] == nil && p.env(budgetVariable) == "" {
		options["budget-usd"] = options[inheritedCap]
	}
	return resolverOf("run", options), nil
}
