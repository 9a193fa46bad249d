package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/store/gitremote"
	"evalctl/daemon/store/gitstore"
)

// signPassphrase is the environment variable with the passphrase of --sign-key.
const signPassphrase = "SVC_SIGN_KEY_PASSPHRASE"

// gitFlags are what serve does with the repositories of --store git.
type gitFlags struct {
	SignKey  string        `env:"SVC_SIGN_KEY" placeholder:"FILE" help:"SSH private key that signs every commit. Only with --store git."`
	Remote   string        `name:"git-remote" env:"SVC_GIT_REMOTE" placeholder:"URL" help:"Git repository that brains are pulled from and pushed to; {brain} and {tenant} are replaced. Only with --store git."`
	Branch   string        `name:"git-branch" env:"SVC_GIT_BRANCH" placeholder:"BRANCH" help:"Branch at --git-remote; {brain} and {tenant} are replaced. Default: main, or {brain} if the URL has no {brain}."`
	Interval time.Duration `name:"git-interval" env:"SVC_GIT_INTERVAL" default:"1m" help:"Interval between pulls from --git-remote (${default}). Commits are pushed at once."`
}

// shortestInterval limits the load on the remote.
const shortestInterval = time.Second

// config sets what the flags say about the repositories of a daemon. With keys, brains belong to
// tenants.
func (f *gitFlags) config(ctx context.Context, p *process, keys bool, cfg *daemon.Config) error {
	if cfg.Store != daemon.StoreGit {
		switch {
		case f.SignKey != "":
			return errors.New("--sign-key needs --store git: other stores have no commits; or unset SVC_SIGN_KEY")
		case f.Remote != "":
			return errors.New("--git-remote needs --store git: other stores have no commits; or unset SVC_GIT_REMOTE")
		}
	}
	if f.Branch != "" && f.Remote == "" {
		return errors.New("--git-branch needs --git-remote")
	}
	if f.Interval < shortestInterval {
		return fmt.Errorf("--git-interval %v: must be at least %v", f.Interval, shortestInterval)
	}
	if err := f.sign(p, cfg); err != nil {
		return err
	}
	if f.Remote == "" {
		return nil
	}
	address, err := gitremote.ParseAddress(f.Remote, f.Branch, keys)
	if err == nil {
		err = gitstore.CheckProgram(ctx)
	}
	if err != nil {
		return fmt.Errorf("--git-remote: %w", err)
	}
	cfg.Git.Remote, cfg.Git.PullInterval = &address, f.Interval
	return nil
}

// sign sets the signature of commits.
func (f *gitFlags) sign(p *process, cfg *daemon.Config) error {
	if f.SignKey == "" {
		return nil
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
