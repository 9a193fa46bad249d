package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"

	"evalctl/harness/journal"
)

// budgetVariable is the environment variable of --budget-usd.
const budgetVariable = "SVC_EVAL_BUDGET_USD"

// inheritedCap is the journal's option for a cap that no flag gave. A resume uses it unless a flag
// or the variable gives another one, so that no cap is lost.
const inheritedCap = "inherited-budget-usd"

// notKept are the flags that are not written to the journal, with the reasons.
var notKept = map[string]string{
	"token":  "it is a secret",
	"output": "the journal is in that directory",
	"resume": "it names the journal",
	"quiet":  "it concerns one invocation only",
	"json":   "it concerns one invocation only",
}

// AfterApply records which flags were given. kong calls it.
func (c *runCmd) AfterApply(k *kong.Context) error {
	c.flags, c.given = k.Selected().Flags, map[string]bool{}
	for _, step := range k.Path {
		if step.Flag != nil {
			c.given[step.Flag.Name] = true
		}
	}
	return nil
}

// options returns the values of all flags but those of notKept, for journalOptions to read. They
// are written as on a command line. A value from the environment is left out, because a resume
// reads the environment again; only the cap is inherited. Paths are absolute, so that a run can be
// resumed in any directory.
func (c *runCmd) options() (map[string]any, error) {
	options := map[string]any{}
	for _, f := range c.flags {
		if notKept[f.Name] != "" || len(f.Envs) > 0 && !c.given[f.Name] {
			continue
		}
		value := flagText(f.Target)
		if value == nil || value == "" && !c.given[f.Name] {
			continue
		}
		options[f.Name] = value
	}
	for name, path := range map[string]string{"dataset": c.Dataset, "corpus": c.Corpus} {
		if path == "" || name == "corpus" && path == noCorpus {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", name, path, err)
		}
		options[name] = absolute
	}
	if !c.given["budget-usd"] && c.BudgetUSD != "" {
		options[inheritedCap] = c.BudgetUSD
	}
	return options, nil
}

// flagText returns a flag's value as on a command line: a string, a []string for a flag that may be
// repeated, or nil for a flag without a value.
func flagText(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return flagText(v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			return nil
		}
		var list []string
		for i := range v.Len() {
			list = append(list, fmt.Sprint(v.Index(i)))
		}
		return list
	}
	return fmt.Sprint(v)
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
	return kong.ResolverFunc(func(_ *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
		if parent.Command == nil || parent.Command.Name != "run" {
			return nil, nil
		}
		return options[f.Name], nil
	}), nil
}
