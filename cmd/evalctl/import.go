package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"evalctl/harness/report/text"
	"evalctl/harness/target"
	"evalctl/harness/wording"
	"evalctl/internal/environ"
	"evalctl/internal/printable"
	"evalctl/replay/imports"
	"evalctl/replay/source"
)

// importCmd makes results of answers that other harnesses stored.
type importCmd struct {
	Files   []string `arg:"" name:"file" help:"Files with the answers of one system: JSON, JSON lines, CSV, or one of them with gzip."`
	As      string   `name:"as" required:"" placeholder:"NAME" help:"Name of the system, which the result has."`
	Dataset string   `placeholder:"FILE" help:"${about_dataset}"`
	Errata  string   `placeholder:"FILE" help:"${about_errata}"`
	Format  string   `name:"layout" aliases:"format" enum:"auto,${import_formats}" default:"auto" help:"Layout of the files: ${enum}."`
	Mapping string   `placeholder:"FILE" help:"File that says where the answers of another layout are, with JSON paths."`
	System  string   `placeholder:"NAME" help:"Which system's answers to import, if the files have several."`
	Judge   string   `name:"judge-id" placeholder:"TEXT" help:"The judge of the verdicts, if the files do not name it, such as 'gpt-4o-mini, prompt of Mem0 2025-04'. Only results with the same one are compared."`
	Reader  string   `name:"reader-id" placeholder:"TEXT" help:"The model that wrote the answers, if the files do not name it."`
	TopK    int      `name:"top-k" default:"10" placeholder:"N" help:"How many of an answer's retrieved passages count, the best first: some files rank the whole haystack (${default})."`
	Output  string   `placeholder:"DIR" help:"${about_output}."`
	JSON    bool     `name:"json" help:"${about_json}"`
}

// maxID is the maximum length of the description of a judge or a reader.
const maxID = 200

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *importCmd) Validate() error {
	switch {
	case !target.IsName(c.As):
		return fmt.Errorf("--as %.80q: must be a name of lower-case letters, digits and hyphens, such as zep", c.As)
	case c.Dataset == "" && c.Errata != "":
		return errors.New("--errata is for the questions of a benchmark; name it with --dataset FILE")
	case c.Mapping != "" && c.Format != "auto":
		return errors.New("--mapping and --layout exclude each other: a mapping describes the layout")
	case max(len(c.Judge), len(c.Reader)) > maxID || printable.Line(c.Judge+c.Reader, 2*maxID) != c.Judge+c.Reader:
		return fmt.Errorf("--judge-id and --reader-id: must be one line of at most %d bytes", maxID)
	case c.TopK < 1:
		return fmt.Errorf("--top-k %d: must be at least 1", c.TopK)
	case c.Mapping != "" && c.System != "":
		return errors.New("--mapping and --system exclude each other: name the system's key in the mapping")
	}
	return nil
}

// checkOutput refuses to put the result in place of a file that it is made of.
func (c *importCmd) checkOutput(dir string) error {
	path := filepath.Join(dir, c.As+".json")
	there, err := os.Stat(path)
	if err != nil {
		return nil // writing the result says what is wrong
	}
	for _, file := range append([]string{c.Dataset, c.Errata, c.Mapping}, c.Files...) {
		if read, err := os.Stat(file); err == nil && os.SameFile(there, read) {
			return fmt.Errorf("--output: the result would be %s, which is read; name another folder", path)
		}
	}
	return nil
}

// Run reads the files and writes the result.
func (c *importCmd) Run(ctx context.Context, p *process) (err error) {
	spec := imports.Spec{
		Files: c.Files, Mapping: c.Mapping, System: c.System, JudgeID: c.Judge, ReaderID: c.Reader, TopK: c.TopK,
		Secrets: environ.Secrets(os.Environ()),
	}
	if c.Format != "auto" {
		spec.Format = imports.Format(c.Format)
	}
	dir := cmp.Or(c.Output, filepath.Join(defaultOutput, time.Now().UTC().Format(time.DateOnly)))
	if err := c.checkOutput(dir); err != nil {
		return err
	}
	if c.Dataset != "" {
		if spec.Dataset, err = source.Open(ctx, c.Dataset, source.Options{Errata: c.Errata, FileOrder: true}); err != nil {
			return fmt.Errorf("--dataset: %w", err)
		}
		defer func() { err = errors.Join(err, spec.Dataset.Close()) }()
	}
	im, err := imports.Read(spec)
	if err != nil {
		return err
	}
	res, path, err := im.Write(ctx, dir, im.Identity(c.As, toolID()))
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	text.Imported(t, &res)
	if im.Listed > im.TopK {
		t.Field("retrieved", "up to %d passages are listed for an answer, of which the first %d count (--top-k)", im.Listed, im.TopK)
	}
	text.Warnings(t, im.Warnings)
	text.ImportedVerdicts(t, &res)
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(map[string]any{
			"path": path, "counts": res.Counts, "pass_rate": res.PassRate, "mean_score": res.MeanScore, "imported": res.Imported,
		})
	}
	_, err = fmt.Fprintln(p.stdout, wording.Summary(&res, path))
	return err
}
