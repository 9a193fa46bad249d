package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"evalctl/harness/compare"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

type diffCmd struct {
	ID    string   `arg:"" name:"qid" help:"Id of the question."`
	Files []string `arg:"" name:"file" help:"Result files, or runs in JSON lines."`
}

func (diffCmd) Help() string {
	return `Shows what became of one question in several results: the answers, the verdicts and their reasons, what was
retrieved and which of it is gold, times and cost. It does not check that the results are comparable.

Examples:

  evalctl diff q-012 results/2026-01-30/go.json results/2026-01-31/go.json
`
}

// Run shows the question on stdout.
func (c *diffCmd) Run(p *process) error {
	if len(c.Files) < 2 {
		return usageError{fmt.Errorf("only %s is given: name a second result to show beside it", c.Files[0])}
	}
	found, err := c.find()
	if err != nil {
		return usageError{err}
	}
	return output(p, func(t *terminal.Terminal) { text.Diff(t, found) })
}

// find reads the question of each file. It is an error if none has it.
func (c *diffCmd) find() ([]*compare.Found, error) {
	found, errs := make([]*compare.Found, len(c.Files)), make([]error, len(c.Files))
	var wait sync.WaitGroup
	for i, path := range c.Files {
		wait.Go(func() { found[i], errs[i] = compare.Find(path, c.ID) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var near []string
	for _, f := range found {
		if len(f.Records) > 0 {
			return found, nil
		}
		for _, id := range f.Near {
			if quoted := fmt.Sprintf("%q", id); !slices.Contains(near, quoted) {
				near = append(near, quoted)
			}
		}
	}
	err := fmt.Errorf("no question of these files has the id %q", c.ID)
	if len(near) > 0 {
		err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	return nil, err
}
