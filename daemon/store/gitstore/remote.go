package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-git/go-git/v5/plumbing"

	"evalctl/daemon/store"
)

// Push sends the branch to the remote. Commits can be made at the same time. If the remote has
// commits that the branch does not have, it fails with store.ErrConflict; then Pull first. It
// needs the git program.
func (r *Repo) Push(ctx context.Context) error {
	return wrap("push", r.backend.push(ctx))
}

// Pull fetches the branch from the remote and rebases the local commits on it. It publishes what
// has changed as the events of one commit. The rebase omits merges, but not the commits that they
// combine, and commits whose changes the remote already has. Even after an error or a crash, the
// store is either unchanged or at the new commit. Pull needs the git program, version 2.38 or
// newer if both sides have new commits.
//
// If a commit cannot be rebased, Pull fails with store.ErrConflict and the store is unchanged. If
// the pull changes files that were edited by hand, the edits are merged with the changes. If that
// is not possible, Pull also returns store.ErrConflict, but the store has the remote's changes,
// and the edits are the newest entry in git stash list.
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

// remoteName returns remote/branch, as the error texts of the specification name it.
func (b *backend) remoteName() string { return b.opts.Remote + "/" + b.branch.Short() }

// tracking returns the ref of the branch as it was last fetched from the remote.
func (b *backend) tracking() plumbing.ReferenceName {
	return plumbing.NewRemoteReferenceName(b.opts.Remote, b.branch.Short())
}

// runRemote runs a git command that connects to the remote. Only one runs at a time. It fails if
// the store is closed.
func (b *backend) runRemote(ctx context.Context, command string, args ...string) error {
	select {
	case b.remoteLock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.remoteLock }()
	if b.closed {
		return store.ErrReadOnly
	}
	// git would take the name of an unknown remote for a path.
	if _, err := b.runGit(ctx, "remote", "get-url", "--", b.opts.Remote); err != nil {
		return fmt.Errorf("%w; add the remote with git remote add %s", err, b.opts.Remote)
	}
	_, err := b.runGit(ctx, command, args...)
	return err
}

// rejected matches the output of git push --porcelain if the remote has other commits. If they
// were pushed during this push, remoteRejected matches the output and raced matches stderr.
var (
	rejected       = regexp.MustCompile(`(?m)^!\t[^\t]*\t\[rejected\]`)
	remoteRejected = regexp.MustCompile(`(?m)^!\t[^\t]*\t\[remote rejected\]`)
	raced          = regexp.MustCompile(`but expected|incorrect old value|reference already exists`)
)

func (b *backend) push(ctx context.Context) error {
	err := b.runRemote(ctx, "push", "--porcelain", "--no-verify", "--", b.opts.Remote,
		string(b.branch)+":"+string(b.branch))
	failed, ok := errors.AsType[*programError](err)
	switch {
	case ok && (rejected.Match(failed.stdout) ||
		remoteRejected.Match(failed.stdout) && raced.MatchString(failed.detail)):
		return fmt.Errorf("%w: git push rejected by %s", store.ErrConflict, b.remoteName())
	case ok:
		failed.detail = errorDetail(string(failed.stdout) + failed.detail)
	}
	return err
}

// fetch fetches the branch from the remote and returns its commit.
func (b *backend) fetch(ctx context.Context) (plumbing.Hash, error) {
	tracking := b.tracking()
	err := b.runRemote(ctx, "fetch", "--no-tags", "--no-write-fetch-head", "--", b.opts.Remote,
		fmt.Sprintf("+%s:%s", b.branch, tracking))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	out, err := b.runGit(ctx, "rev-parse", "--verify", "--end-of-options", string(tracking)+"^{commit}")
	return plumbing.NewHash(string(bytes.TrimSpace(out))), err
}
