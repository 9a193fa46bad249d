package main

import (
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/internal/terminal"
)

type datasetInitCmd struct {
	Dir string `arg:"" optional:"" default:"." name:"dir" help:"Folder to write to (the current one)."`
}

// Run writes the example.
func (c *datasetInitCmd) Run(p *process) error {
	questions, corpus, err := dataset.WriteExample(c.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "wrote %s and %s; run it, without a key or a network:\n",
		terminal.Line(questions), terminal.Line(corpus))
	_, err = fmt.Fprintln(p.stdout, terminal.CommandLine("evalctl", "run", "--sdk", "go",
		"--dataset", questions, "--scorer", "exact"))
	return err
}
