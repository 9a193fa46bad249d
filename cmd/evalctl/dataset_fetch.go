package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/progress"
	"evalctl/internal/download"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/terminal"
	"evalctl/replay/source"
)

type datasetFetchCmd struct {
	Name     string `arg:"" optional:"" name:"name" help:"Benchmark. Without a name, they are listed."`
	URL      string `name:"url" placeholder:"URL" help:"Download this file instead of a benchmark."`
	SHA256   string `name:"sha256" placeholder:"HEX" help:"SHA-256 that the file at --url must have."`
	CacheDir string `name:"output" aliases:"cache-dir" placeholder:"DIR" help:"${about_output}."`
	Quiet    bool   `help:"${about_quiet}"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *datasetFetchCmd) Validate() error {
	switch {
	case c.Name != "" && c.URL != "":
		return errors.New("a name and --url exclude each other")
	case c.SHA256 != "" && c.URL == "":
		return errors.New("--sha256 is for --url; the checksums of the benchmarks are known")
	}
	return nil
}

// Run lists the benchmarks, or downloads one file.
func (c *datasetFetchCmd) Run(ctx context.Context, p *process) error {
	if c.Name == "" && c.URL == "" {
		return listBenchmarks(p)
	}
	b, to, err := source.Fetched(source.PublishedFile{Name: c.Name, URL: c.URL, SHA256: c.SHA256}, c.CacheDir)
	if err != nil {
		return err
	}
	t := newTerminal(p, c.Quiet)
	show := progress.NewDownload(t, llm.WithoutSecrets(b.URL))
	f, err := download.Get(ctx, download.Config{
		URL: b.URL, Path: to, Size: b.Size, SHA256: b.SHA256, UserAgent: userAgent(),
		Progress: show.Arrived, Retrying: show.Retrying,
	})
	show.Done()
	if err != nil {
		return err
	}
	progress.Downloaded(t, f, b.SHA256 != "", b.Licence)
	_, err = fmt.Fprintln(p.stdout, f.Path)
	return err
}

// listBenchmarks prints what can be downloaded by name.
func listBenchmarks(p *process) error {
	rows := [][]string{{"name", "content", "licence", "size"}}
	for _, b := range source.AllPublished() {
		rows = append(rows, []string{b.Name, b.About, b.Licence, figure.Bytes(b.Size)})
	}
	for line := range strings.Lines(terminal.Table(rows, 3)) {
		if _, err := fmt.Fprintln(p.stdout, strings.TrimSpace(line)); err != nil {
			return err
		}
	}
	return nil
}

type datasetConvertCmd struct {
	File   string `arg:"" name:"file" help:"File to convert."`
	Output string `required:"" placeholder:"FILE" help:"${about_output}."`
	Format string `name:"input-format" aliases:"format" enum:"auto,csv,tsv,yaml,json,${benchmarks}" default:"auto" help:"${about_input_format}: ${enum}."`
	Errata string `placeholder:"FILE" help:"${about_errata}"`
	Seed   uint64 `name:"option-seed" placeholder:"N" help:"Seed of the order of options in multiple-choice questions. Default: 0."`
}

// Run converts the file, and lists the files written on stdout.
func (c *datasetConvertCmd) Run(ctx context.Context, p *process) error {
	format := c.Format
	if format == "auto" {
		format = ""
	}
	out, err := source.Convert(ctx, c.File, c.Output, source.Options{
		Format: dataset.Format(format), Errata: c.Errata, OptionSeed: c.Seed,
	})
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	if len(out.Renamed) > 0 {
		t.Field("renamed", "%s", terminal.Line(strings.Join(out.Renamed, ", ")))
	}
	for _, note := range out.Notes {
		t.Field("note", "%s", note)
	}
	for _, w := range out.Written {
		if _, err := fmt.Fprintf(p.stdout, "%s  %s\n", terminal.Line(w.Path), w.Content); err != nil {
			return err
		}
	}
	return nil
}
