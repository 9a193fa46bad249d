// Package gitstore keeps documents in a git repository. Every commit of the store is one commit
// on the branch, and the worktree contains the documents as plain files.
//
// Commits do not need the git program. Push and Pull do (git 2.38 or newer). The package keeps
// its own state in .git/gitstore:
//
//	schema      version of this layout
//	lock        locked by the process that has the store open
//	worktree    the last commit whose files are known to be on disk
//	temp        the file being written
//	index.lock  the lock of the index before it is linked into place
//	objects/    the objects of the commit being made, until they are on disk
//	staged/     the documents of the commit being made
//	undo/       documents that the commit being made has replaced
//
// While the store is open, .git/index.lock prevents other programs from changing the index and
// the worktree. Each commit also updates the index, which is a split index until Close.
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

// Options configures a repository. Nil and the zero value mean the defaults.
type Options struct {
	store.Options
	// Sign returns a signature for every commit that the store makes: the first one of a new
	// repository, all later ones, and those that Pull rebases. Nothing else is signed. The
	// signature is detached and ASCII-armored, and is stored unchanged in the header of the commit.
	// An error leaves the store unchanged. Default: commits are not signed.
	Sign func(context.Context, SignRequest) (string, error)
	// Branch is created in a new repository, and must be checked out in an existing one. Default:
	// main in a new repository, otherwise the branch that is checked out.
	Branch string
	// Remote is the name of the remote for Push and Pull. Default: origin.
	Remote string
	// RemoteURL is the address of the remote, which Open adds to the configuration of the
	// repository. A remote of that name with another address is an error. Default: the address in
	// the configuration (git remote add).
	RemoteURL string
	// RemoteBranch is the branch for Push and Pull at the remote. Default: the name of the branch.
	RemoteBranch string
	// UserSettings permits Push and Pull to use the git settings of the user and the system, such
	// as credential helpers, and the variables by which git finds keys and credentials. git never
	// prompts for any. Default: only the settings of the repository apply.
	UserSettings bool
	// Admit is called before every commit except the commits of Pull and the first one of a
	// repository. Its error rejects the commit.
	Admit func() error
	// OnClose is called once when the store begins to close. It may push, but must not pull or use
	// the documents.
	OnClose func()
}

// SignRequest is the argument of Options.Sign (spec 9.7).
type SignRequest struct {
	Payload string // the serialized commit object without a signature
}

// Repo is a store with a history.
type Repo struct {
	*store.Store
	backend *backend
}

// Open opens the repository in dir. If dir does not exist or is empty, Open creates a repository
// with an empty first commit. It returns an error for a bare repository, a linked worktree, a
// detached HEAD, and an unfinished merge or rebase. The file system must support hard links.
//
// The documents are the plain files of HEAD that have valid paths. Other entries of HEAD stay in
// the commits, but are not laid out. Untracked files are left alone. Skipped names both, except for
// ignored files.
//
// After a crash Open repairs the worktree, so that all of a commit is stored or none of it, and
// logs each file. Any other difference between the documents and HEAD was made by hand. Then
// Open fails; the changed files must first be committed or discarded. Open also fails if the
// store is already open, in this or in another process. A layout newer than this package
// supports is store.ErrSchemaVersion.
//
// Every mutation is durable when it returns. It fails with store.ErrConflict if another program has
// moved the branch. Then, or once Replaced has noticed, the store is Broken, and reopening it sets
// the files to the new commit. A lock file of another program is store.ErrLocked.
// BatchOptions.Reason is the subject of a commit and Message its body. The committer is always
// evalctl <evalctl@localhost>, which is also the default for Author and Email. Control characters
// in all of these are replaced with spaces.
//
// Paths that git reserves are store.ErrInvalidPath: paths with a segment .git or .gitmodules,
// including their other spellings on other systems. So is a path that the file system rejects. A
// write where there is an untracked file is store.ErrConflict. Documents do not affect commits:
// .gitignore and .gitattributes have no effect on the store.
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

	opts     Options
	branch   plumbing.ReferenceName
	git      *os.Root // of .git
	lock     *flock.Flock
	objects  *objects
	external func(context.Context, string, func() ([]store.ChangeEvent, error)) error

	remoteLock chan struct{} // holds a token while a program talks to the remote
	closed     bool          // needs the token

	// tracked are the documents. The lock of Files guards it.
	tracked store.Overlay[inHead]
	// others has the entries of HEAD that are not documents, with reasons. unfit has those that
	// could be documents on another file system. Both are replaced as a whole, under the lock of
	// Files.
	others, unfit map[string]string
	folds         bool // names that differ only in case belong to one file

	// The fields below are used only during a mutation.

	head  tip
	index *splitIndex // nil if the next commit writes all of it
	// sinceCheckpoint is the number of commits since the files were last synced to disk.
	sinceCheckpoint int
	// broken is the error after which the files may differ from the commit, or nil. Reopening the
	// store repairs them.
	broken error
}

// tip is a commit and its tree. Both are zero before the first commit.
type tip struct{ commit, tree plumbing.Hash }

var _ store.Backend = (*backend)(nil)

// LocalPath implements an optional method of store.Backend.
func (b *backend) LocalPath(path string) string {
	if reserved(path) != nil {
		return ""
	}
	return filepath.Join(b.Root.Name(), filepath.FromSlash(path))
}

// Broken implements an optional method of store.Backend.
func (b *backend) Broken() bool { return b.broken != nil }

// Follow implements an optional method of store.Backend.
func (b *backend) Follow(apply func(context.Context, string, func() ([]store.ChangeEvent, error)) error) {
	b.external = apply
}

// Close waits for a running push or fetch, updates the index, and releases the lock last. It leaves
// a broken store unchanged, for Open to repair.
func (b *backend) Close() error {
	if b.opts.OnClose != nil {
		b.opts.OnClose()
	}
	b.remoteLock <- struct{}{}
	b.closed = true
	<-b.remoteLock
	var err error
	if b.broken == nil {
		err = b.closeCleanly()
	}
	return errors.Join(err, b.release())
}

func (b *backend) release() error {
	var err error
	if b.objects != nil {
		err = b.objects.top.Close()
	}
	if b.git != nil {
		err = errors.Join(err, b.git.Close())
	}
	return errors.Join(err, b.Root.Close(), b.lock.Close())
}
