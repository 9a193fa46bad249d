package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"evalctl/harness/report/text"
	"evalctl/harness/verify"
	"evalctl/internal/terminal"
)

// verifyCmd recomputes result files.
type verifyCmd struct {
	Files []string `arg:"" name:"file" help:"Result files of run or replay, or sweep files."`
	JSON  bool     `help:"Write one JSON object a file, with all differences."`
}

func (verifyCmd) Help() string {
	return `Recomputes every figure of a result file from its questions, by the code that computed it in the run,
checks each question for consistency, and checks the file against its JSON Schema. Each value that is
not what the questions say is named. See docs/verifying.md for what does not follow from questions.

Examples:

  evalctl verify results/2026-01-31/go.json
  evalctl verify --json results/*/*.json

The exit code is 0 if nothing differs, 1 if something does, and 2 if a file cannot be read.
`
}

// differenceError reports files that are not what their questions say.
type differenceError struct{ files, of int }

func (e *differenceError) Error() string {
	return fmt.Sprintf("%d of %s not what the questions say", e.files, count(e.of, "file")+are(e.of))
}

func are(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// Run verifies all files, also after one that cannot be read.
func (c *verifyCmd) Run(ctx context.Context, p *process) error {
	var unreadable []error
	different := &differenceError{of: len(c.Files)}
	var left []string
	for _, path := range c.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rep, err := verify.File(path)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		if !rep.OK {
			different.files++
		}
		for _, what := range rep.NotChecked {
			if !slices.Contains(left, what) {
				left = append(left, what)
			}
		}
		if err := c.write(p.stdout, rep); err != nil {
			return err
		}
	}
	if len(left) > 0 && !c.JSON {
		fmt.Fprintf(p.stderr, "not checked: %s\n", terminal.Line(strings.Join(left, "; ")))
	}
	switch {
	case len(unreadable) > 0:
		return errors.Join(unreadable...)
	case different.files > 0:
		return different
	}
	return nil
}

func (c *verifyCmd) write(w io.Writer, rep *verify.Report) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(rep)
	}
	_, err := io.WriteString(w, text.Verified(rep))
	return err
}
