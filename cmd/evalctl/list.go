package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/report/text"
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
		return nil, fmt.Errorf("there is no folder %s: evalctl run writes one, or name another", c.Dir)
	}
	if err != nil {
		return nil, err
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
	if _, err := io.WriteString(p.stdout, text.Entries(f)); err != nil {
		return err
	}
	text.NotListed(newTerminal(p, false), f, all-len(f.Entries), c.Target, c.Kind)
	return nil
}
