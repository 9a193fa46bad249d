package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"evalctl/daemon/setup"
	"evalctl/harness/report/text"
	"evalctl/harness/signing"
	"evalctl/internal/sshsig"
	"evalctl/internal/terminal"
)

// verifyCmd recomputes result files.
type verifyCmd struct {
	Files []string `arg:"" name:"file" help:"Result files of run or replay, or files of a sweep or a bench."`
	JSON  bool     `help:"${about_json}"`

	AllowedSigners string `name:"allowed-signers" placeholder:"FILE" help:"Also check that each file is signed with a key of this file (ssh-keygen(1), ALLOWED SIGNERS)."`
	Sign           bool   `help:"Sign each file in which nothing differs with --key, and write the signature next to its permanent name."`
	Key            string `env:"SVC_RESULT_KEY" placeholder:"FILE" help:"SSH private key of --sign, such as an Ed25519 one."`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *verifyCmd) Validate() error {
	switch {
	case c.Sign && c.Key == "":
		return errors.New("--sign needs a key: give --key FILE or set SVC_RESULT_KEY")
	case c.Sign && (c.AllowedSigners != "" || c.JSON):
		return errors.New("--sign makes signatures and --allowed-signers checks them: first sign, then verify, without --json")
	}
	return nil
}

// Run verifies all files, also after one that cannot be read.
func (c *verifyCmd) Run(ctx context.Context, p *process) (err error) {
	if c.Sign {
		return c.sign(p)
	}
	var allowed *sshsig.AllowedKeys
	if c.AllowedSigners != "" {
		if allowed, err = sshsig.ReadAllowed(c.AllowedSigners); err != nil {
			return fmt.Errorf("--allowed-signers: %w", err)
		}
	}
	var sum signing.Sum
	for _, path := range c.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found, ok := sum.Verify(path, allowed)
		switch {
		case !ok: // the file cannot be read
		case c.JSON:
			err = json.NewEncoder(p.stdout).Encode(found)
		default:
			_, err = io.WriteString(p.stdout, text.Verified(found))
		}
		if err != nil {
			return err
		}
	}
	if !c.JSON {
		fmt.Fprint(p.stderr, text.NotVerified(sum.NotChecked, allowed != nil))
	}
	return sum.Err()
}

// sign signs the files. It ends at the first one that cannot be signed.
func (c *verifyCmd) sign(p *process) error {
	signer, err := setup.LoadKey("--key", c.Key, p.env)
	if err != nil {
		return err
	}
	for _, path := range c.Files {
		signature, err := signing.Sign(signer, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s  %s\n", terminal.Line(signature), signer.Fingerprint())
	}
	return nil
}
