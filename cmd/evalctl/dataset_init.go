package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

type datasetInitCmd struct {
	Dir string `arg:"" optional:"" default:"." name:"dir" help:"Folder to write to (the current one)."`
}

func (datasetInitCmd) Help() string {
	return `Writes questions.jsonl, with comments that explain every field, and the folder questions.corpus with
the documents, and prints the command that runs them. It replaces nothing.

Examples:

  evalctl dataset init mine
`
}

// example has the files that init writes.
//
//go:embed example
var example embed.FS

// Run writes the example.
func (c *datasetInitCmd) Run(p *process) error {
	questions := filepath.Join(c.Dir, "questions.jsonl")
	corpus := filepath.Join(c.Dir, "questions.corpus")
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return usageError{err}
	}
	if err := errors.Join(checkNew(questions), checkNew(corpus)); err != nil {
		return usageError{err}
	}
	files, err := fs.Sub(example, "example")
	if err != nil {
		return err
	}
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(c.Dir, filepath.FromSlash(name))
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return atomicfile.Write(to, 0o644, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("write the example: %w", err)
	}
	fmt.Fprintf(p.stderr, "wrote %s and %s; run it, without a key or a network:\n",
		terminal.Line(questions), terminal.Line(corpus))
	_, err = fmt.Fprintln(p.stdout, terminal.CommandLine("evalctl", "run", "--sdk", "go",
		"--dataset", questions, "--scorer", "exact"))
	return err
}
