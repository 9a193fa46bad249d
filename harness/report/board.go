package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness/board"
	"evalctl/internal/atomicfile"
)

// WriteBoard writes the page of a board and, before it, those of the results that it links to. These
// go to a folder next to it, which has its name without the ending.
func WriteBoard(path string, b *board.Board) error {
	base := strings.TrimSuffix(path, filepath.Ext(path))
	if base == path || filepath.Base(base) == "" {
		return fmt.Errorf("%s has no ending such as .html, without which the folder of the results would have its name", path)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	urls := map[string]string{}
	back := Link{Text: "Board", URL: "../" + filepath.Base(path)}
	for _, g := range b.Groups {
		for _, r := range g.Rows {
			run, err := ReadRun(r.Path)
			if err != nil {
				return err
			}
			file := fmt.Sprintf("%d.html", len(urls)+1) // names of results may contain anything
			err = atomicfile.Write(filepath.Join(base, file), 0o644, func(w io.Writer) error {
				return HTML(w, Page{Run: run, Links: []Link{back}})
			})
			if err != nil {
				return err
			}
			urls[r.Path] = filepath.Base(base) + "/" + file
		}
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return HTML(w, Page{Board: b, BoardURLs: urls}) })
}
