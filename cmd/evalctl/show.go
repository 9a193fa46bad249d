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
	t.verbose = c.Verbose
	var f failures
	if !c.Quiet {
		if f = failuresOf(r, listedFailures); f.err != nil {
			return usageError{f.err}
		}
	}
	t.stored(path, res)
	if res.Replay != nil {
		t.blank()
		t.losses(res.Identity, f)
		t.armReport(res, path)
	} else {
		t.report(res, f, 0, path)
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

// stored prints which result is shown, and what was measured.
func (t *terminal) stored(path string, res result.Result) {
	id := res.Identity
	took := duration(float64(res.FinishedAt.Sub(res.StartedAt).Microseconds()) / 1000)
	t.field("result", "%s  %s UTC  took %s", printable(path, oneLine), res.StartedAt.UTC().Format("2006-01-02 15:04:05"), took)
	asked := id.Dataset.Questions()
	questions := count(asked, "question")
	if id.Dataset.Selection.Partial(asked) {
		questions = "selection: " + printable(id.Dataset.SelectionText(), oneLine)
	}
	if id.Dataset.Repeats > 1 {
		questions += fmt.Sprintf(", each asked %d times", id.Dataset.Repeats)
	}
	t.field("dataset", "%s  %s  sha256 %s", printable(id.Dataset.Path, oneLine), questions, short(id.Dataset.SHA256, 9))
	if c := id.Corpus; c != nil {
		t.field("corpus", "%s  %s  sha256 %s", printable(c.Path, oneLine), count(c.Documents, "document"), short(c.SHA256, 9))
	}
	if j := id.Judge; j != nil {
		t.field("judge", "%s %s  prompt %s %s  temperature %s", short(j.Provider, 40), short(j.Model, 80),
			short(j.PromptVersion, 40), short(j.PromptSHA256, 9), temperature(*j))
	}
	daemon := id.Daemon.Program
	if daemon == "" {
		daemon = id.Daemon.Endpoint
	}
	if daemon != "" {
		t.field("daemon", "%s  %s", short(daemon, 120), short(id.Daemon.Version, 80))
	}
}
