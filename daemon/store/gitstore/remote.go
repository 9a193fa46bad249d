package gitstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"evalctl/daemon/store"
)

// Push sends the branch to the remote. Commits can be made at the same time. If the remote has
// commits that the branch does not have, it fails with store.ErrConflict; then Pull first. It needs
// the git program.
func (r *Repo) Push(ctx context.Context) error {
	return wrap("push", r.backend.push(ctx))
}

// Pull fetches the branch from the remote and rebases the local commits on it. It publishes the
// changes as the events of one commit. The rebase omits merges, but not the commits that they
// combine, and commits whose changes the remote already has. Even after an error or a crash, the
// store is either unchanged or at the new commit, and what becomes of edits is the same. Pull
// needs the git program, version 2.38 or newer if both sides have new commits.
//
// If a commit cannot be rebased, Pull fails with store.ErrConflict and the store is unchanged. If
// the pull changes files that were edited by hand, the edits are merged with the changes. If that
// is not possible, Pull returns ErrStashed: the store has the remote's changes, and the edits are
// the newest entry in git stash list. A remote without the branch is ErrNoBranch; then no commit
// counts as pushed.
func (r *Repo) Pull(ctx context.Context) error {
	b := r.backend
	upstream, err := b.fetch(ctx)
	if err == nil {
		reason := "pull from " + b.remoteName()
		err = b.external(ctx, reason, func() ([]store.ChangeEvent, error) { return b.integrate(ctx, upstream) })
	}
	return wrap("pull", err)
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Err: err}
}

// ErrNoBranch is returned by Pull if the remote does not have the branch. The first Push creates
// it.
var ErrNoBranch = errors.New("the remote does not have the branch")

// Unpushed reports whether the branch has commits that the remote did not have after the last Push
// or Pull. It needs the git program.
func (r *Repo) Unpushed(ctx context.Context) (bool, error) {
	b := r.backend
	args := []string{"--max-count=1", string(b.branch)}
	pulled, err := b.pulled(ctx)
	if pulled {
		args = append(args, "^"+string(b.tracking()))
	}
	if err != nil {
		return false, err
	}
	out, err := b.runGit(ctx, "rev-list", append(args, "--")...)
	return len(out) > 0, err
}

// Pristine reports whether the store is as Open creates it, with neither documents nor a state of
// the remote. It needs the git program.
func (r *Repo) Pristine(ctx context.Context) (bool, error) {
	entries, err := r.List(ctx, "", store.ListOptions{})
	if err != nil || len(entries) > 0 {
		return false, err
	}
	pulled, err := r.backend.pulled(ctx)
	return !pulled, err
}

// pulled reports whether the branch was ever fetched from the remote, or pushed to it. It asks git,
// because commits may be using objects meanwhile.
func (b *backend) pulled(ctx context.Context) (bool, error) {
	out, err := b.runGit(ctx, "for-each-ref", "--format=%(objectname)", string(b.tracking()))
	return len(out) > 0, err
}

// Reachable returns an error unless git can read the repository at an address, with the settings
// that Options.UserSettings permits.
func Reachable(ctx context.Context, url string) error {
	_, err := runProgram(ctx, "", true, "ls-remote", "--", url, "HEAD")
	return err
}

// addRemote records Options.RemoteURL in the configuration of the repository.
func (b *backend) addRemote(ctx context.Context) error {
	if b.opts.RemoteURL == "" {
		return nil
	}
	out, err := b.runGit(ctx, "config", "--get-all", "remote."+b.opts.Remote+".url")
	if failed, ok := errors.AsType[*programError](err); ok && failed.code == 1 { // there is none
		_, err = b.runGit(ctx, "remote", "add", "--", b.opts.Remote, b.opts.RemoteURL)
		return err
	}
	if had := strings.TrimSpace(string(out)); err == nil && had != b.opts.RemoteURL {
		return fmt.Errorf("the remote %s of the repository has the address %s, not %s: change it with git remote set-url",
			b.opts.Remote, errorDetail(had), errorDetail(b.opts.RemoteURL))
	}
	return err
}

// remoteName returns remote/branch, as the error texts of the specification name it.
func (b *backend) remoteName() string { return b.opts.Remote + "/" + b.remoteBranch().Short() }

func (b *backend) remoteBranch() plumbing.ReferenceName {
	if b.opts.RemoteBranch != "" {
		return plumbing.NewBranchReferenceName(b.opts.RemoteBranch)
	}
	return b.branch
}

// tracking returns the ref of the branch as it was last fetched from the remote.
func (b *backend) tracking() plumbing.ReferenceName {
	return plumbing.NewRemoteReferenceName(b.opts.Remote, b.remoteBranch().Short())
}

// runRemote runs a git command that connects to the remote. Only one runs at a time. It fails if
// the store is closed.
func (b *backend) runRemote(ctx context.Context, command string, args ...string) error {
	select {
	case b.remoteLock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b.remoteLock }()
	if b.closed {
		return store.ErrReadOnly
	}
	// git would take the name of an unknown remote for a path.
	if _, err := b.runGit(ctx, "remote", "get-url", "--", b.opts.Remote); err != nil {
		return fmt.Errorf("%w; add the remote with git remote add %s", err, b.opts.Remote)
	}
	_, err := runProgram(ctx, b.Root.Name(), b.opts.UserSettings, command, args...)
	return err
}

// rejected matches the output of git push --porcelain if the remote has other commits. If these
// were pushed during this push, remoteRejected matches the output and raced matches stderr.
var (
	rejected = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^!\t[^\t]*\t\[rejected\]`)
	})
	remoteRejected = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^!\t[^\t]*\t\[remote rejected\]`)
	})
	raced = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`but expected|incorrect old value|reference already exists`)
	})
)

func (b *backend) push(ctx context.Context) error {
	err := b.runRemote(ctx, "push", "--no-recurse-submodules", "--porcelain", "--no-verify", "--", b.opts.Remote,
		string(b.branch)+":"+string(b.remoteBranch()))
	failed, ok := errors.AsType[*programError](err)
	switch {
	case ok && (rejected().Match(failed.stdout) ||
		remoteRejected().Match(failed.stdout) && raced().MatchString(failed.detail)):
		return fmt.Errorf("%w: git push rejected by %s", store.ErrConflict, b.remoteName())
	case ok:
		failed.detail = errorDetail(string(failed.stdout) + failed.detail)
	}
	return err
}

// fetch fetches the branch from the remote and returns its commit.
func (b *backend) fetch(ctx context.Context) (plumbing.Hash, error) {
	tracking := b.tracking()
	err := b.runRemote(ctx, "fetch", "--no-recurse-submodules", "--no-tags", "--no-write-fetch-head", "--", b.opts.Remote,
		fmt.Sprintf("+%s:%s", b.remoteBranch(), tracking))
	if failed, ok := errors.AsType[*programError](err); ok && strings.Contains(failed.detail, "couldn't find remote ref") {
		// Otherwise commits that the branch had would count as pushed. git locks packed-refs even
		// for a ref that does not exist, and a lock that a killed git leaves stops every push.
		_, err := b.runGit(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", string(tracking))
		if err == nil {
			_, err = b.runGit(ctx, "update-ref", "-d", string(tracking))
		} else if failed, ok := errors.AsType[*programError](err); ok && failed.code == 1 { // there is none
			err = nil
		}
		return plumbing.ZeroHash, cmp.Or(err, ErrNoBranch)
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	out, err := b.runGit(ctx, "rev-parse", "--verify", "--end-of-options", string(tracking)+"^{commit}")
	return plumbing.NewHash(string(bytes.TrimSpace(out))), err
}
