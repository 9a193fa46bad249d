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

// Push sends the branch to the remote. Commits may be made meanwhile. When the
// remote has commits that the branch has not, it is store.ErrConflict: Pull
// first. It needs the git program.
func (r *Repo) Push(ctx context.Context) error {
	return wrap("push", r.backend.push(ctx))
}

// Pull fetches the branch from the remote, makes the commits that the remote
// has not anew on top of it, and publishes what changed as the events of one
// commit. Merges among those commits are left out, their sides are not; those
// whose changes the remote already has are dropped. Whatever happens, also to
// the process, the store is as it was or at its new commit, never in between.
// It needs the git program, version 2.38 or newer when both sides have commits.
//
// Commits that cannot be made anew are store.ErrConflict, with the store
// unchanged. Files that were edited by hand, and that the pull changes, keep their
// edits merged with the change; where that cannot be, it is store.ErrConflict too,
// with the remote's changes taken over and the edits in the newest entry of
// git stash list.
func (r *Repo) Pull(ctx context.Context) error {
	b := r.backend
	upstream, err := b.fetch(ctx)
	if err == nil {
		reason := "pull from " + b.remoteName()
		err = b.outside(ctx, reason, func() ([]store.ChangeEvent, error) { return b.integrate(ctx, upstream) })
	}
	return wrap("pull", err)
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Err: err}
}

// remoteName is how the specification names it: remote/branch.
func (b *backend) remoteName() string { return b.opts.Remote + "/" + b.branch.Short() }

// tracking is the ref that says what the branch was on the remote.
func (b *backend) tracking() plumbing.ReferenceName {
	return plumbing.NewRemoteReferenceName(b.opts.Remote, b.branch.Short())
}

// dial runs a program that talks to the remote. Only one runs at a time, and
// none on a closed store.
func (b *backend) dial(ctx context.Context, command string, args ...string) error {
	select {
	case b.remote <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.remote }()
	if b.closed {
		return store.ErrReadOnly
	}
	// git would take the name of a remote that does not exist for a path.
	if _, err := b.run(ctx, "remote", "get-url", "--", b.opts.Remote); err != nil {
		return fmt.Errorf("%w; add the remote with git remote add %s", err, b.opts.Remote)
	}
	_, err := b.run(ctx, command, args...)
	return err
}

// In the output of git push --porcelain, rejected says that the remote had moved
// on before. With remoteRejected, raced says on stderr that it did meanwhile.
var (
	rejected       = regexp.MustCompile(`(?m)^!\t[^\t]*\t\[rejected\]`)
	remoteRejected = regexp.MustCompile(`(?m)^!\t[^\t]*\t\[remote rejected\]`)
	raced          = regexp.MustCompile(`but expected|incorrect old value|reference already exists`)
)

func (b *backend) push(ctx context.Context) error {
	err := b.dial(ctx, "push", "--porcelain", "--no-verify", "--", b.opts.Remote, string(b.branch)+":"+string(b.branch))
	failed, ok := errors.AsType[*programError](err)
	switch {
	case ok && (rejected.Match(failed.stdout) || remoteRejected.Match(failed.stdout) && raced.MatchString(failed.detail)):
		return fmt.Errorf("%w: git push rejected by %s", store.ErrConflict, b.remoteName())
	case ok:
		failed.detail = detail(string(failed.stdout) + failed.detail)
	}
	return err
}

// fetch returns what the branch is on the remote.
func (b *backend) fetch(ctx context.Context) (plumbing.Hash, error) {
	tracking := b.tracking()
	err := b.dial(ctx, "fetch", "--no-tags", "--no-write-fetch-head", "--", b.opts.Remote, fmt.Sprintf("+%s:%s", b.branch, tracking))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	out, err := b.run(ctx, "rev-parse", "--verify", "--end-of-options", string(tracking)+"^{commit}")
	return plumbing.NewHash(string(bytes.TrimSpace(out))), err
}
