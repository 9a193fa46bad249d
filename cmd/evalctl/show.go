package main

import (
	"context"

	"evalctl/harness/history"
	"evalctl/harness/report/text"
	"evalctl/harness/result"
)

type showCmd struct {
	File    string `arg:"" optional:"" default:"results/latest" placeholder:"FILE" help:"Result file, or a folder of results for its newest run; the name latest in a folder means the same (${default})."`
	Quiet   bool   `help:"Print only errors on stderr."`
	Verbose bool   `help:"Also print the tags whose questions all passed."`
	JSON    bool   `name:"json" help:"Print the summary as one JSON object."`
}

// Run prints the report.
func (c *showCmd) Run(ctx context.Context, p *process) error {
	path, err := history.Resolve(c.File)
	if err != nil {
		return err
	}
	r, err := result.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	res := r.Result()
	t := newTerminal(p, c.Quiet)
	var f text.Failures
	if !c.Quiet {
		if f = text.FailuresOf(r, text.ListedFailures); f.Err != nil {
			return f.Err
		}
	}
	text.Stored(t, path, res)
	if res.Replay != nil {
		t.Blank()
		text.Losses(t, res.Identity, f)
		text.ArmReport(t, res, path)
	} else {
		text.Run(t, res, f, 0, path, c.Verbose)
	}
	return printSummary(p, c.JSON, res, path, exitCode(ctx, verdict(*res.Gate, nil)))
}
