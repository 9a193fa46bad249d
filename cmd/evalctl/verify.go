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
	"evalctl/internal/sshsig"
	"evalctl/internal/terminal"
)

// verifyCmd recomputes result files.
type verifyCmd struct {
	Files []string `arg:"" name:"file" help:"Result files of run or replay, or sweep files."`
	JSON  bool     `help:"Write one JSON object a file, with all differences."`

	AllowedSigners string `name:"allowed-signers" placeholder:"FILE" help:"Also check that each file is signed with a key of this file (ssh-keygen(1), ALLOWED SIGNERS)."`
}

func (verifyCmd) Help() string {
	return `Recomputes every figure of a result file from its questions, by the code that computed it in the run,
checks each question for consistency, and checks the file against its JSON Schema. Each value that is
not what the questions say is named. See docs/verifying.md for what does not follow from questions.

Examples:

  evalctl verify results/2026-01-31/go.json
  evalctl verify --json results/*/*.json
  evalctl verify results/2026-01-31/go.json --allowed-signers allowed_signers

The exit code is 0 if nothing differs, 1 if something does or a signature is missing or bad, and 2 if a file cannot be read.
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
	unsigned := 0
	var allowed *sshsig.Allowed
	if c.AllowedSigners != "" {
		var err error
		if allowed, err = sshsig.ReadAllowed(c.AllowedSigners); err != nil {
			return usageError{fmt.Errorf("--allowed-signers: %w", err)}
		}
	}
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
		checked := verified{Report: rep}
		if allowed != nil {
			if checked.Signature = new(signatureOf(allowed, path)); !checked.Signature.OK {
				unsigned++
			}
		}
		if err := c.write(p.stdout, checked); err != nil {
			return err
		}
	}
	if len(left) > 0 && !c.JSON {
		fmt.Fprintf(p.stderr, "not checked: %s\n", terminal.Line(strings.Join(left, "; ")))
	}
	if allowed != nil && !c.JSON {
		fmt.Fprintf(p.stderr, "a signature does not show: %s\n", notVouched)
	}
	switch {
	case len(unreadable) > 0:
		return errors.Join(unreadable...)
	case different.files > 0:
		return different
	case unsigned > 0:
		return &unsignedError{files: unsigned, of: len(c.Files)}
	}
	return nil
}

// verified is what was found of one file.
type verified struct {
	*verify.Report
	// Signature is nil unless signatures are checked.
	Signature *signature `json:"signature,omitempty"`
}

func (c *verifyCmd) write(w io.Writer, v verified) error {
	if c.JSON {
		return json.NewEncoder(w).Encode(v)
	}
	lines := text.Verified(v.Report)
	if v.Signature != nil {
		lines += v.Signature.String() + "\n"
	}
	_, err := io.WriteString(w, lines)
	return err
}
