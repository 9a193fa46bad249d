package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// historyFlags select results in a folder.
type historyFlags struct {
	Dir    string `arg:"" optional:"" default:"results/" help:"Folder of results (${default})."`
	Target string `aliases:"sdk" placeholder:"NAME" help:"Only results of this target or baseline."`
}

// folder reads the folder of the command.
func (c *historyFlags) folder() (*history.Folder, error) {
	f, err := history.Read(c.Dir, time.Time{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{fmt.Errorf("there is no folder %s: evalctl run writes one, or name another", c.Dir)}
	}
	if err != nil {
		return nil, usageError{err}
	}
	if c.Target != "" {
		f.Entries = slices.DeleteFunc(f.Entries, func(e *history.Entry) bool { return e.Name != c.Target })
	}
	return f, nil
}

type listCmd struct {
	historyFlags
	Kind  string `enum:"run,replay,sweep," default:"" placeholder:"KIND" help:"Only results of this kind: run, replay or sweep."`
	Limit int    `default:"50" placeholder:"N" help:"Print at most N results. 0: all of them (${default})."`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

func (listCmd) Help() string {
	return `Lists what was measured, the newest first. A run is listed once, however many copies of its file there are.
Files that cannot be read are named with the reason.

Examples:

  evalctl list
  evalctl list --target go --limit 10
  evalctl list results --kind replay --json
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *listCmd) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit %d: must be at least 0", c.Limit)
	}
	return nil
}

// Run prints the list to stdout, and what is not in it to stderr.
func (c *listCmd) Run(p *process) error {
	f, err := c.folder()
	if err != nil {
		return err
	}
	if c.Kind != "" {
		f.Entries = slices.DeleteFunc(f.Entries, func(e *history.Entry) bool { return string(e.Kind) != c.Kind })
	}
	all := len(f.Entries)
	if c.Limit > 0 && all > c.Limit {
		f.Entries = f.Entries[:c.Limit]
	}
	if c.JSON {
		return printJSON(p, f)
	}
	t := newTerminal(p, false)
	if len(f.Entries) > 0 {
		rows := entryRows(f)
		if _, err := fmt.Fprint(p.stdout, terminal.Aligned(rows, "lllllrrllrll"[:len(rows[0])])); err != nil {
			return err
		}
	}
	if more := all - len(f.Entries); more > 0 {
		t.Field("more", "%s not listed: give --limit 0", count(more, "older result"))
	}
	if all == 0 {
		t.Field("empty", "%s", c.none(f))
	}
	printNotListed(t, f)
	return nil
}

// none says what to do about a list without results.
func (c *listCmd) none(f *history.Folder) string {
	switch {
	case c.Target != "" && c.Kind != "":
		return fmt.Sprintf("no such result in %s: leave out --target or --kind", terminal.Line(f.Root))
	case c.Target != "":
		return fmt.Sprintf("no result of %s in %s: leave out --target", terminal.Short(c.Target, 32), terminal.Line(f.Root))
	case c.Kind != "":
		return fmt.Sprintf("no %s in %s: leave out --kind", c.Kind, terminal.Line(f.Root))
	}
	return fmt.Sprintf("no results in %s: try evalctl run --sdk go --dataset datasets/smoke.jsonl --scorer exact", terminal.Line(f.Root))
}

// entryRows returns the table of the entries of a folder.
func entryRows(f *history.Folder) [][]string {
	header := []string{"started (UTC)", "kind", "name", "dataset", "scorer", "passed", "rate", "95% Wilson", "verdict", "cost", "file"}
	selections := slices.ContainsFunc(f.Entries, func(e *history.Entry) bool { return e.Selection != "" })
	if selections {
		header = append(header, "selection")
	}
	rows := [][]string{header}
	for _, e := range f.Entries {
		row := []string{
			e.StartedAt.UTC().Format("2006-01-02 15:04"), string(e.Kind), terminal.Short(e.Name, 16), terminal.Short(filepath.Base(e.Dataset), 28),
			terminal.Short(e.Scorer, 12), "–", "–", "–", terminal.Short(verdictWord(e), 16), "–", terminal.Line(below(f.Root, e.Path)),
		}
		if e.Result == nil {
			row[3] = "–"
		} else {
			row[5], row[9] = fmt.Sprintf("%d/%d", e.Passed, e.Total), e.Result.Amount()
		}
		if e.Scored() {
			row[6], row[7] = fmt.Sprintf("%.3f", *e.PassRate), withMethod(e.Interval, result.MethodWilson)
		}
		if selections {
			row = append(row, terminal.Short(e.Selection, 60))
		}
		rows = append(rows, row)
	}
	return rows
}

// intervalText returns the ends of an interval, or a dash without one.
func intervalText(i *result.Interval) string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f–%.3f", i.Low, i.High)
}

// verdictWord returns the verdict of an entry, or why it stopped.
func verdictWord(e *history.Entry) string {
	if e.Stopped != "" {
		return strings.ReplaceAll(string(e.Stopped), "_", " ")
	}
	return string(e.Verdict)
}

// below returns a path below a folder, relative to that.
func below(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return rel
	}
	return path
}

// maxUnreadable is the number of files that could not be read that are named.
const maxUnreadable = 5

// printNotListed prints what a folder contains besides results.
func printNotListed(t *terminal.Terminal, f *history.Folder) {
	for i, path := range f.Journals {
		if i == maxUnreadable {
			t.Field("", "and %d more", len(f.Journals)-i)
			break
		}
		t.Field("unfinished", "%s  in progress, or to be continued with --resume", terminal.Line(path))
	}
	var others []string
	if n := len(f.Conformance); n > 0 {
		others = append(others, count(n, "report")+" of conformance")
	}
	if n := len(f.Others); n > 0 {
		others = append(others, count(n, "other JSON file"))
	}
	if len(others) > 0 {
		t.Field("not listed", "%s", strings.Join(others, ", "))
	}
	printUnreadable(t, f.Unreadable)
}

// printUnreadable prints the first files that could not be read.
func printUnreadable(t *terminal.Terminal, files []history.Unreadable) {
	for i, u := range files {
		if i == maxUnreadable {
			t.Field("", "and %d more", len(files)-i)
			break
		}
		t.Field("not read", "%s", terminal.Short(u.Reason, 400))
	}
}
