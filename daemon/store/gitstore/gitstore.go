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
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

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
// Open finishes what a crash interrupted: all of a commit is there, or nothing
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
	dir     string // absolute
	opts    Options
	branch  plumbing.ReferenceName
	root    *os.Root // of the worktree, and to move files between it and .git
	git     *os.Root // of .git
	lock    *flock.Flock
	objects *objects
	outside func(context.Context, string, func() ([]store.ChangeEvent, error)) error

	remote chan struct{} // holds a token while a program talks to the remote
	closed bool          // needs the token

	// mu is held while a commit changes documents, not while it waits for the
	// disk, and by every read.
	mu sync.RWMutex

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

// Read reads a document whole.
func (b *backend) Read(_ context.Context, path string) ([]byte, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	info, err := b.document(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, store.ErrNotFound
	}
	f, err := b.root.Open(path)
	if err != nil {
		return nil, missing(err)
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, errors.Join(err, f.Close())
}

// Stat relies on there being no empty directories.
func (b *backend) Stat(_ context.Context, path string) (store.FileInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	info, err := b.document(path)
	switch {
	case err != nil:
		return store.FileInfo{}, err
	case info.IsDir():
		return store.FileInfo{Path: path, IsDir: true}, nil
	}
	return describe(path, info), nil
}

// List walks the directory.
func (b *backend) List(_ context.Context, dir string) ([]store.FileInfo, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if dir != "" {
		info, err := b.document(dir)
		if store.IsNotFound(err) || err == nil && !info.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	var files []store.FileInfo
	err := b.walk(dir, func(path string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err == nil {
			files = append(files, describe(path, info))
		}
		return err
	})
	return files, err
}

// LocalPath is asserted by store.Store.
func (b *backend) LocalPath(path string) string {
	if reserved(path) != nil {
		return ""
	}
	return filepath.Join(b.dir, filepath.FromSlash(path))
}

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
	return errors.Join(err, b.root.Close(), b.lock.Close())
}

// document describes the regular file or directory at path. Anything else,
// links above all, is refused: it is none of ours, and could lead into .git.
func (b *backend) document(path string) (fs.FileInfo, error) {
	if err := reserved(path); err != nil {
		return nil, err
	}
	for dir := parent(path); dir != "."; dir = parent(dir) {
		info, err := b.root.Lstat(dir)
		if err != nil {
			return nil, missing(err)
		}
		if info.Mode().IsRegular() {
			return nil, store.ErrNotFound
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%w: %s is not a directory", store.ErrInvalidPath, dir)
		}
	}
	info, err := b.root.Lstat(path)
	if err != nil {
		return nil, missing(err)
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%w: is a link or special file, not a document", store.ErrInvalidPath)
	}
	return info, nil
}

func describe(path string, info fs.FileInfo) store.FileInfo {
	return store.FileInfo{Path: path, Size: info.Size(), ModTime: info.ModTime().UTC()}
}

// missing turns what a filesystem says of a path that is not there, or that
// lies below a file, into ErrNotFound.
func missing(err error) error {
	if absent(err) {
		return store.ErrNotFound
	}
	return err
}

// absent tells whether there is no file, or none can be.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
