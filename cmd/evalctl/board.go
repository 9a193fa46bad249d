package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/board"
	"evalctl/harness/report"
	"evalctl/harness/report/text"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

type boardCmd struct {
	historyFlags
	HTML string `name:"html" placeholder:"FILE" help:"Also write the board as an HTML page, and the page of each result into a folder next to it."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

func (boardCmd) Help() string {
	return `Ranks the results in a folder by their pass rate. Only results that measured the same thing are ranked together:
each group says what it has in common. Two results share a letter if the paired tests show no difference between
them, adjusted over all pairs of the group (Holm). Of several results of one target the newest is ranked.

Examples:

  evalctl board results
  evalctl board results --html board.html
`
}

// Run prints the board to stdout, and what is not in it to stderr.
func (c *boardCmd) Run(p *process) error {
	if c.HTML == "-" {
		return usageError{fmt.Errorf("--html: the pages of the results need a folder: name a file")}
	}
	f, err := c.folder()
	if err != nil {
		return err
	}
	b, err := board.New(f)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := c.pages(b); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if c.JSON {
		return printJSON(p, b)
	}
	if err := output(p, func(t *terminal.Terminal) { text.Board(t, b) }); err != nil {
		return err
	}
	t := newTerminal(p, false)
	if len(b.Groups) == 0 {
		t.Field("empty", "no result in %s can be ranked: evalctl run writes them", terminal.Line(c.Dir))
	}
	for _, l := range b.LeftOut {
		t.Field("left out", "%s: %s", terminal.Line(l.Path), terminal.Line(l.Reason))
	}
	return nil
}

// pages writes the page of the board and, before it, those of the results that it links to.
func (c *boardCmd) pages(b *board.Board) error {
	base := strings.TrimSuffix(c.HTML, filepath.Ext(c.HTML))
	if base == c.HTML || filepath.Base(base) == "" {
		return fmt.Errorf("%s has no ending such as .html, without which the folder of the results would have its name", c.HTML)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	urls := map[string]string{}
	back := report.Link{Text: "Board", URL: "../" + filepath.Base(c.HTML)}
	for _, g := range b.Groups {
		for _, r := range g.Rows {
			run, err := report.ReadRun(r.Path)
			if err != nil {
				return err
			}
			file := fmt.Sprintf("%d.html", len(urls)+1) // names of results may contain anything
			err = atomicfile.Write(filepath.Join(base, file), 0o644, func(w io.Writer) error {
				return report.HTML(w, report.Page{Run: run, Links: []report.Link{back}})
			})
			if err != nil {
				return err
			}
			urls[r.Path] = filepath.Base(base) + "/" + file
		}
	}
	return atomicfile.Write(c.HTML, 0o644, func(w io.Writer) error {
		return report.HTML(w, report.Page{Board: b, BoardURLs: urls})
	})
}
