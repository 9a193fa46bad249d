package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"evalctl/harness/report/text"
	"evalctl/harness/signing"
	"evalctl/internal/sshsig"
)

// verifyCmd recomputes result files.
type verifyCmd struct {
	Files []string `arg:"" name:"file" help:"Result files of run or replay, or files of a sweep or a bench."`
	JSON  bool     `help:"Write one JSON object a file, with all differences."`

	AllowedSigners string `name:"allowed-signers" placeholder:"FILE" help:"Also check that each file is signed with a key of this file (ssh-keygen(1), ALLOWED SIGNERS)."`
}

// Run verifies all files, also after one that cannot be read.
func (c *verifyCmd) Run(ctx context.Context, p *process) (err error) {
	var allowed *sshsig.Allowed
	if c.AllowedSigners != "" {
		if allowed, err = sshsig.ReadAllowed(c.AllowedSigners); err != nil {
			return fmt.Errorf("--allowed-signers: %w", err)
		}
	}
	var unreadable []error
	different, unsigned := 0, 0
	var left []string
	for _, path := range c.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found, err := signing.Verify(path, allowed)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		if !found.OK {
			different++
		}
		if s := found.Signature; s != nil && !s.OK {
			unsigned++
		}
		for _, what := range found.NotChecked {
			if !slices.Contains(left, what) {
				left = append(left, what)
			}
		}
		if c.JSON {
			err = json.NewEncoder(p.stdout).Encode(found)
		} else {
			_, err = io.WriteString(p.stdout, text.Verified(found))
		}
		if err != nil {
			return err
		}
	}
	if !c.JSON {
		fmt.Fprint(p.stderr, text.NotVerified(left, allowed != nil))
	}
	filesAre := "1 file is"
	if n := len(c.Files); n > 1 {
		filesAre = fmt.Sprintf("%d files are", n)
	}
	switch {
	case len(unreadable) > 0:
		return errors.Join(unreadable...)
	case different > 0:
		return belowError{fmt.Errorf("%d of %s not what the questions say", different, filesAre)}
	case unsigned > 0:
		return belowError{fmt.Errorf("%d of %s without a good signature", unsigned, filesAre)}
	}
	return nil
}
