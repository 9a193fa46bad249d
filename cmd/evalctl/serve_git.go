package main

import (
	"errors"
	"fmt"

	"evalctl/daemon"
	"evalctl/daemon/store/gitstore"
)

// signPassphrase is the environment variable with the passphrase of --sign-key.
const signPassphrase = "SVC_SIGN_KEY_PASSPHRASE"

// gitFlags are what serve does with the repositories of --store git.
type gitFlags struct {
	SignKey string `env:"SVC_SIGN_KEY" placeholder:"FILE" help:"SSH private key that signs every commit. Only with --store git."`
}

// config sets what the flags say about the repositories of a daemon.
func (f *gitFlags) config(p *process, cfg *daemon.Config) error {
	if f.SignKey == "" {
		return nil
	}
	if cfg.Store != daemon.StoreGit {
		return errors.New("--sign-key needs --store git: other stores have no commits")
	}
	signer, err := gitstore.NewSSHSigner(f.SignKey, []byte(p.env(signPassphrase)))
	if errors.Is(err, gitstore.ErrPassphrase) {
		err = fmt.Errorf("%w: set it in %s", err, signPassphrase)
	}
	if err != nil {
		return fmt.Errorf("--sign-key: %w", err)
	}
	cfg.Git.Sign = signer.Sign
	cfg.Logger.Info("commits are signed", "key", signer.Fingerprint())
	return nil
}
