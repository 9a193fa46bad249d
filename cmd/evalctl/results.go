package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"evalctl/harness/board"
	"evalctl/harness/history"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/terminal"
)

// historyFlags select results in a folder.
type historyFlags struct {
	Dir    string `arg:"" optional:"" default:"results/" help:"Folder of results (${default})."`
	Target string `name:"of" aliases:"target,sdk" placeholder:"NAME" help:"Only results of this target or baseline."`
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
	Kind  string `enum:"run,replay,sweep,bench," default:"" placeholder:"KIND" help:"Only results of this kind: run, replay, sweep or bench."`
	Limit int    `name:"rows" aliases:"limit" default:"50" placeholder:"N" help:"Print at most N results. 0: all of them (${default})."`
	JSON  bool   `name:"json" help:"${about_json}"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *listCmd) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--rows %d: must be at least 0", c.Limit)
	}
	return nil
}

// Run prints the list to stdout, and the files left out to stderr.
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
		return writeJSON(p.stdout, f)
	}
	err = output(p, func(t *terminal.Terminal) {
		tables := slices.DeleteFunc([]string{text.Entries(t, f), text.Benches(t, f)}, func(t string) bool { return t == "" })
		fmt.Fprint(t, strings.Join(tables, "\n"))
	})
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	text.NotListed(t, f, all-len(f.Entries), c.Target, c.Kind)
	text.Newest(t, f)
	return nil
}

type trendCmd struct {
	historyFlags
	Last int `default:"30" placeholder:"N" help:"Show the last N nights of each line. 0: all of them (${default})."`
	formFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *trendCmd) Validate() error {
	if c.Last < 0 {
		return fmt.Errorf("--last %d: must be at least 0", c.Last)
	}
	return c.files().CheckStdout(c.JSON)
}

// Run prints the trend to stdout.
func (c *trendCmd) Run(p *process) error {
	f, err := c.folder()
	if err != nil {
		return err
	}
	trend := report.Trend{Trend: f.Trend(c.Last)}
	if printed, err := c.files().Write(p.stdout, trend); printed || err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(p.stdout, trend.Trend)
	}
	err = output(p, func(t *terminal.Terminal) { report.Text(t, trend) })
	if err == nil {
		t := newTerminal(p, false)
		text.NotInTrend(t, f, trend.Trend, c.Target)
		report.Closing(t, trend, "")
	}
	return err
}

type boardCmd struct {
	historyFlags
	Accept []string `placeholder:"KEY" help:"${about_accept}"`
	HTML   string   `name:"html" placeholder:"FILE" help:"${about_html}"`
	JSON   bool     `name:"json" help:"${about_json}"`
}

// Run prints the board to stdout, and the results left out to stderr.
func (c *boardCmd) Run(p *process) error {
	if c.HTML == "-" {
		return errors.New("--html: the pages of the results need a folder: name a file")
	}
	f, err := c.folder()
	if err != nil {
		return err
	}
	b, err := board.New(f, c.Accept)
	if err != nil {
		return fmt.Errorf("--accept: %w", err)
	}
	if c.HTML != "" {
		if err := report.WriteBoard(c.HTML, b); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if c.JSON {
		return writeJSON(p.stdout, b)
	}
	text.NotRanked(newTerminal(p, false), b, c.Dir)
	return output(p, func(t *terminal.Terminal) { report.Text(t, report.Board{Board: b}) })
}
