package dataset

import (
	"fmt"
	"io"

	"evalctl/internal/inputfile"
)

// CopyLines writes the lines of the wanted questions unchanged. A changed file is an error as for
// Questions.
func (d Dataset) CopyLines(w io.Writer, wanted func(Question) bool) error {
	lines := map[int]bool{}
	for q, err := range d.Questions() {
		if err != nil {
			return err
		}
		if wanted(q) {
			lines[q.Line] = true
		}
	}
	return copyLines(w, d.Path, func(line textLine) (bool, error) { return lines[line.number], nil })
}

// CopyDocuments writes the lines of the wanted brains in a corpus unchanged.
func CopyDocuments(w io.Writer, corpus string, wanted func(brain string) bool) error {
	names := documentKeys()
	return copyLines(w, corpus, func(line textLine) (bool, error) {
		doc, _, err := parseDoc(line.text, names)
		if err != nil {
			err = &LineError{File: corpus, Line: line.number, Err: err}
		}
		return wanted(doc.Brain), err
	})
}

func copyLines(w io.Writer, path string, wanted func(textLine) (bool, error)) error {
	f, err := inputfile.Open(path, inputfile.Streamed)
	if err != nil {
		return fmt.Errorf("copy lines: %w", err)
	}
	defer f.Close()
	for line, err := range readLines(f, path) {
		if err != nil {
			return err
		}
		ok, err := wanted(line)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\n", line.text); err != nil {
			return err
		}
	}
	return nil
}
