package main

import (
	"encoding/json"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
	"evalctl/internal/terminal"
)

type datasetCmd struct {
	Init     datasetInitCmd     `cmd:"" help:"Write a small example that runs."`
	Validate datasetValidateCmd `cmd:"" help:"Check a dataset as run does, without a daemon."`
	Stats    datasetStatsCmd    `cmd:"" help:"Say what is in a dataset and its corpus."`
	Schema   datasetSchemaCmd   `cmd:"" help:"Print the JSON Schema of a file."`
	Sample   datasetSampleCmd   `cmd:"" help:"Draw a stratified sample of the questions."`
	Convert  datasetConvertCmd  `cmd:"" help:"Convert another format to JSONL."`
	Fetch    datasetFetchCmd    `cmd:"" help:"Download a published benchmark."`
}

// datasetFile is the dataset that a command reads, and where its documents are.
type datasetFile struct {
	File     string `arg:"" name:"file" help:"Dataset, a JSONL file of questions."`
	Corpus   string `placeholder:"PATH" help:"Documents: a folder of .md files, or a .jsonl file. Default: <dataset>.corpus next to the dataset. none: no documents."`
	Brain    string `default:"eval" help:"Brain of the questions and documents that do not name one (${default})."`
	BrainTag string `name:"brain-tag" placeholder:"TAG" help:"Questions with the tag TAG:X are asked in brain X, which has the documents with a folder X in their path."`
}

// spec returns what says which dataset and corpus are read.
func (c *datasetFile) spec() dataset.Spec {
	return dataset.Spec{Path: c.File, Corpus: c.Corpus, Options: dataset.Options{
		Naming: dataset.BrainNaming{Default: c.Brain, Tag: c.BrainTag}, Check: target.Scenarios()[0].Check,
	}}
}

// printJSON writes one indented JSON value.
func printJSON(p *process, v any) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// output writes a report that is the output of a command to stdout, and returns the first error of
// writing.
func output(p *process, write func(t *terminal.Terminal)) error {
	return terminal.New(p.stdout, p.env, false).Buffered(write)
}
