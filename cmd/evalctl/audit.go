package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"evalctl/harness/audit"
	"evalctl/harness/dataset"
	"evalctl/harness/report"
	"evalctl/harness/resultfile"
	"evalctl/internal/environ"
	"evalctl/internal/terminal"
	"evalctl/replay/imports"
	"evalctl/replay/source"
)

// auditCmd asks of results and stored answers what the field argues about.
type auditCmd struct {
	Files   []string `arg:"" name:"file" help:"Results, or files of stored answers as evalctl import reads them."`
	Wrong   string   `placeholder:"FILE" help:"${about_wrong}"`
	Dataset string   `placeholder:"FILE" help:"${about_dataset}"`
	Errata  string   `placeholder:"FILE" help:"${about_errata}"`
	Public  string   `placeholder:"FILE" help:"Ids of the questions that the authors could see when they tuned, one on a line."`
	Claim   []string `enum:"${claims}" placeholder:"NAME" help:"Answer only this claim: ${enum}."`
	formFlags
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *auditCmd) Validate() error {
	if c.Errata != "" && c.Dataset == "" {
		return errors.New("--errata is for the questions of a benchmark; name it with --dataset FILE")
	}
	return c.files().CheckStdout(c.JSON)
}

// Run asks no model.
func (c *auditCmd) Run(ctx context.Context, p *process) (err error) {
	public, err := dataset.ReadIDs(c.Public)
	if err != nil {
		return fmt.Errorf("--public: %w", err)
	}
	spec := audit.Spec{Public: public}
	dir, err := os.MkdirTemp("", "evalctl-audit-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, path := range c.Files {
		if path, err = c.opened(ctx, path, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return err
		}
		spec.Files = append(spec.Files, path)
	}
	if c.Wrong != "" {
		if spec.Wrong, err = c.opened(ctx, c.Wrong, filepath.Join(dir, "wrong")); err != nil {
			return fmt.Errorf("--wrong: %w", err)
		}
	}
	spec.Claims = c.Claim
	found, err := audit.Run(spec)
	if err != nil {
		return err
	}
	return c.write(p, report.Audit{Audit: found})
}

// opened returns the path of a result. Stored answers are imported into a folder.
func (c *auditCmd) opened(ctx context.Context, path, dir string) (_ string, err error) {
	r, err := resultfile.Open(path)
	switch {
	case err == nil:
		return path, r.Close()
	case resultfile.KindOf(path) == resultfile.Run:
		return "", err
	}
	spec := imports.Spec{Files: []string{path}, Secrets: environ.Secrets(os.Environ())}
	if c.Dataset != "" {
		if spec.Dataset, err = source.Open(ctx, c.Dataset, source.Options{Errata: c.Errata, FileOrder: true}); err != nil {
			return "", fmt.Errorf("--dataset: %w", err)
		}
		defer func() { err = errors.Join(err, spec.Dataset.Close()) }()
	}
	im, err := imports.Read(spec)
	if err != nil {
		return "", err
	}
	_, written, err := im.Write(ctx, dir, im.Identity(nameOfFile(path), toolID()))
	return written, err
}

// nameOfFile returns the name of a system for a file of answers.
func nameOfFile(path string) string {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(base), "-"), "-")
	if name == "" {
		return "answers"
	}
	return strings.Trim(name[:min(len(name), 60)], "-")
}

// write writes the audit in each form that was asked for.
func (c *auditCmd) write(p *process, a report.Audit) error {
	if printed, err := c.files().Write(p.stdout, a); printed || err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(p.stdout, a.Audit)
	}
	return output(p, func(t *terminal.Terminal) { report.Text(t, a) })
}
