// Package gitstore keeps documents in a git repository: every commit of the
// store is one commit of the branch, and the worktree holds the documents as
// plain files.
//
// Commits are made without the git program, which only Push and Pull need (git
// 2.38 or newer). The package keeps its own state in .git/gitstore:
//
//	schema      version of this layout
//	lock        held by the process that has the store open
//	worktree    the commit that the files are known to be in step with
//	temp        the file being written
//	index.lock  the lock of the index before it is linked to its place
//	staged/     the documents of the commit being made
//	undo/       what that commit replaced
//
// While the store is open, .git/index.lock keeps other programs from changing
// the index and the worktree, and git status compares with the index as it was
// when the store was opened. Close brings it up to date.
package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/gofrs/flock"

	"evalctl/daemon/store"
)

// Options of a repository. Nil and the zero value mean the defaults.
type Options struct {
	store.Options
	// Sign signs every commit that the store makes: the first one of a new
	// repository, every later one, and those that Pull makes anew. Nothing
	// else is signed. An error from it leaves the store unchanged. Default: commits
	// are not signed.
	Sign func(context.Context, SignRequest) (string, error)
	// Branch is made in a new repository, and must be checked out in an
	// existing one. Default: main, or what is checked out.
	Branch string
	// Remote is the name of the remote that Push and Pull use, with a branch
	// of the same name there. Its address is part of the repository's own
	// configuration (git remote add). Default: origin.
	Remote string
}

// SignRequest is what Options.Sign gets (spec 9.7). It answers with a detached
// armored signature, which goes into the header of the commit as it is.
type SignRequest struct {
	Payload string // the serialised commit object without a signature
}

// Repo is a store with a history.
type Repo struct {
	*store.Store
	backend *backend
}

// Open opens the repository in dir. A dir that is missing or empty becomes a
// new one, whose first commit is empty. Refused are bare repositories, linked
// worktrees, a detached HEAD, an unfinished merge or rebase, and a HEAD that
// holds anything but plain files under valid paths.
//
// The filesystem has to know hard links. Open finishes what a crash interrupted: all of a commit is there, or nothing
// of it. Any other difference between worktree and HEAD was made by hand;
// Open refuses it and names the files, which are to be committed or discarded.
// Only one process can have a store open. A layout newer than this package
// knows is store.ErrSchemaVersion.
//
// Every mutation is durable when it returns. One that finds its branch moved by
// somebody else is store.ErrConflict. BatchOptions.Reason is the subject of a
// commit and Message its body; Author and Email default to evalctl and
// evalctl@localhost, who is always the committer. Control characters in these
// become spaces.
//
// Paths that git keeps to itself are store.ErrInvalidPath: those with a segment
// .git or .gitmodules, also as other systems spell them. No document changes
// what is committed: .gitignore and .gitattributes have no effect on the store.
func Open(ctx context.Context, dir string, opts *Options) (*Repo, error) {
	if opts == nil {
		opts = &Options{}
	}
	b, err := open(ctx, dir, *opts)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return &Repo{Store: store.New(b, &opts.Options), backend: b}, nil
}

type backend struct {
	store.Files // of the worktree; its Root also moves files between it and .git

	opts    Options
	branch  plumbing.ReferenceName
	git     *os.Root // of .git
	lock    *flock.Flock
	objects *objects
	outside func(context.Context, string, func() ([]store.ChangeEvent, error)) error

	remote chan struct{} // holds a token while a program talks to the remote
	closed bool          // needs the token

	// The rest belongs to whoever changes the store.

	head tip
	// since counts the commits since the files were last known to be on disk.
	since int
	// broken says why the files can no longer be trusted to follow a commit.
	// Opening the store again repairs it.
	broken error
}

// tip is a commit and its tree. Both are zero before the first commit.
type tip struct{ commit, tree plumbing.Hash }

var _ store.Backend = (*backend)(nil)

// LocalPath is asserted by store.Store.
func (b *backend) LocalPath(path string) string {
	if reserved(path) != nil {
		return ""
	}
	return filepath.Join(b.Root.Name(), filepath.FromSlash(path))
}

// Broken is asserted by store.Store.
func (b *backend) Broken() bool { return b.broken != nil }

// Follow is asserted by store.Store.
func (b *backend) Follow(outside func(context.Context, string, func() ([]store.ChangeEvent, error)) error) {
	b.outside = outside
}

// Close waits for a push or a fetch, brings the index up to date, and lets the
// next process in last. What is broken is left for Open to repair.
func (b *backend) Close() error {
	b.remote <- struct{}{}
	b.closed = true
	<-b.remote
	var err error
	if b.broken == nil {
		err = b.settle()
	}
	return errors.Join(err, b.release())
}

func (b *backend) release() error {
	var err error
	if b.git != nil {
		err = b.git.Close()
	}
	return errors.Join(err, b.Root.Close(), b.lock.Close())
}
