package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"evalctl/harness/dataset"
	"evalctl/internal/atomicfile"
	"evalctl/internal/terminal"
)

type datasetInitCmd struct {
	Dir string `arg:"" optional:"" default:"." name:"dir" help:"Folder to write to (the current one)."`
}

// Run writes the example.
func (c *datasetInitCmd) Run(p *process) error {
	questions := filepath.Join(c.Dir, dataset.ExampleQuestions)
	corpus := filepath.Join(c.Dir, dataset.ExampleCorpus)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if err := errors.Join(atomicfile.CheckNew(questions), atomicfile.CheckNew(corpus)); err != nil {
		return err
	}
	if err := dataset.WriteExample(c.Dir); err != nil {
		return fmt.Errorf("write the example: %w", err)
	}
	fmt.Fprintf(p.stderr, "wrote %s and %s; run it, without a key or a network:\n",
		terminal.Line(questions), terminal.Line(corpus))
	_, err := fmt.Fprintln(p.stdout, terminal.CommandLine("evalctl", "run", "--sdk", "go",
		"--dataset", questions, "--scorer", "exact"))
	return err
}
