package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/daemon"
	"evalctl/daemon/store/gitremote"
	"evalctl/daemon/store/gitstore"
	"evalctl/internal/sshsig"
)

// SignPassphrase is the environment variable with the passphrase of --sign-key.
const SignPassphrase = "SVC_SIGN_KEY_PASSPHRASE"

// Git configures the repositories of --store git. Each field is the value of a flag of evalctl
// serve.
type Git struct {
	SignKey  string
	Remote   string
	Branch   string
	Interval time.Duration
}

// shortestInterval limits the load on the remote.
const shortestInterval = time.Second

// Apply sets the configuration of a daemon's repositories from the flags. With keys, brains belong
// to tenants.
func (f *Git) Apply(ctx context.Context, env func(string) string, keys bool, cfg *daemon.Config) error {
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
	if err := f.sign(env, cfg); err != nil {
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
func (f *Git) sign(env func(string) string, cfg *daemon.Config) error {
	if f.SignKey == "" {
		return nil
	}
	key, err := LoadKey("--sign-key", f.SignKey, env)
	if err != nil {
		return err
	}
	cfg.Git.Sign = gitstore.SignSSH(key)
	cfg.Logger.Info("commits are signed", "key", key.Fingerprint())
	return nil
}

// LoadKey reads the SSH private key in the file that a flag names. Its passphrase is in env.
func LoadKey(flag, file string, env func(string) string) (*sshsig.Signer, error) {
	key, err := sshsig.Load(file, []byte(env(SignPassphrase)))
	if errors.Is(err, sshsig.ErrPassphrase) {
		err = fmt.Errorf("%w: set it in %s", err, SignPassphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return key, nil
}
