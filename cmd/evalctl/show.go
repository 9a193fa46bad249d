package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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

func (showCmd) Help() string {
	return `Prints the report of a run or of one arm of a replay as it was printed when it ended, from its result file:
the report to stderr, the summary line to stdout. The exit code does not depend on the verdict.

Examples:

  evalctl show
  evalctl show results/2026-01-31/go.json
  evalctl show results/latest --json
`
}

// Run prints the report.
func (c *showCmd) Run(ctx context.Context, p *process) error {
	path, err := c.path()
	if err != nil {
		return usageError{err}
	}
	r, err := result.Open(path)
	if err != nil {
		return usageError{err}
	}
	defer r.Close()
	res := r.Result()
	t := newTerminal(p, c.Quiet)
	var f text.Failures
	if !c.Quiet {
		if f = text.FailuresOf(r, text.ListedFailures); f.Err != nil {
			return usageError{f.Err}
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

// path returns the path of the result file.
func (c *showCmd) path() (string, error) {
	info, err := os.Stat(c.File)
	switch {
	case err == nil && !info.IsDir():
		return c.File, nil
	case err == nil:
		return newest(c.File)
	case errors.Is(err, fs.ErrNotExist) && filepath.Base(c.File) == "latest":
		return newest(filepath.Dir(c.File))
	}
	return "", fmt.Errorf("%w; evalctl list shows what there is", err)
}

// newest returns the path of the newest run or replay in a folder.
func newest(dir string) (string, error) {
	f, err := history.Read(dir, time.Time{})
	if err != nil {
		return "", fmt.Errorf("%w; evalctl run writes results, or name another folder", err)
	}
	for _, e := range f.Entries {
		if e.Result != nil {
			return e.Path, nil
		}
	}
	if len(f.Unreadable) > 0 {
		return "", fmt.Errorf("no result in %s can be read: %s", dir, f.Unreadable[0].Reason)
	}
	return "", fmt.Errorf("no results in %s: evalctl run writes them, or name another folder", dir)
}
