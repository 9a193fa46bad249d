// Command measures prints how large a repository is, and how its comments read.
//
//	measures FOLDER
//
// FOLDER is the root of evalctl or of another Go repository. It is only read. The tables about the
// program are left out, with a note, if the folder has no cmd/evalctl.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: measures FOLDER")
		os.Exit(2)
	}
	if err := measure(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "measures: %v\n", err)
		os.Exit(1)
	}
}

// measure writes all tables about the repository at root.
func measure(w io.Writer, root string) error {
	src, err := readSource(root)
	if err != nil {
		return err
	}
	writeRooms(w, src)
	if err := writePages(w, root); err != nil {
		return err
	}
	writeEnglish(w, src)
	if _, err := os.Stat(filepath.Join(root, "cmd", "evalctl")); err != nil {
		_, _ = fmt.Fprintf(w, "\nNo figures of the program: %v\n", err)
		return nil
	}
	return writeProgram(w, root)
}

// writeTable writes rows with aligned columns: the first to the left, the others to the right.
func writeTable(w io.Writer, rows [][]string) {
	_, _ = fmt.Fprintln(w)
	widest := 0
	for _, row := range rows {
		widest = max(widest, len(row[0]))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		_, _ = fmt.Fprintf(t, "%-*s", widest, row[0])
		for _, cell := range row[1:] {
			_, _ = fmt.Fprint(t, "\t", cell)
		}
		_, _ = fmt.Fprintln(t, "\t")
	}
	_ = t.Flush()
}

// writeRooms writes a row for each room, the largest first, and their sum.
func writeRooms(w io.Writer, src *source) {
	names := make([]string, 0, len(src.rooms))
	var all room
	for name, r := range src.rooms {
		names = append(names, name)
		all.product += r.product
		all.tests += r.tests
		all.packages += r.packages
		all.exported += r.exported
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := src.rooms[a], src.rooms[b]
		if x.product != y.product {
			return y.product - x.product
		}
		if a < b {
			return -1
		}
		return 1
	})
	rows := [][]string{{"room", "product", "tests", "packages", "exported"}}
	for _, name := range names {
		rows = append(rows, src.rooms[name].row(name))
	}
	writeTable(w, append(rows, all.row("all")))
}

func (r *room) row(name string) []string {
	return []string{name, fmt.Sprint(r.product), fmt.Sprint(r.tests), fmt.Sprint(r.packages), fmt.Sprint(r.exported)}
}
