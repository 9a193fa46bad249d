package main

import (
	"errors"
	"fmt"

	"evalctl/daemon/setup"
	"evalctl/harness/signing"
	"evalctl/internal/sshsig"
	"evalctl/internal/terminal"
)

// signCmd signs result files.
type signCmd struct {
	Files []string `arg:"" name:"file" help:"Result files of run or replay, or sweep files."`
	Key   string   `required:"" env:"SVC_RESULT_KEY" placeholder:"FILE" help:"SSH private key that signs, such as an Ed25519 one (required)."`
}

// Run signs the files, the first of which that cannot be signed ends it.
func (c *signCmd) Run(p *process) error {
	signer, err := sshsig.Load(c.Key, []byte(p.env(setup.SignPassphrase)))
	if errors.Is(err, sshsig.ErrPassphrase) {
		err = fmt.Errorf("%w: set it in %s", err, setup.SignPassphrase)
	}
	if err != nil {
		return fmt.Errorf("--key: %w", err)
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
