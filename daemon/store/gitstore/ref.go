package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"evalctl/daemon/store"
)

// moveBranch makes a commit effective: it moves the branch from one commit to another, or fails and
// leaves it unchanged. It first syncs all objects of the new commit.
//
// It uses the same lock file as git, and replaces the ref by renaming. go-git would write into the
// ref, and leave it empty after an interruption.
func (b *backend) moveBranch(from, to plumbing.Hash) error {
	ref := string(b.branch)
	lock := ref + ".lock"
	if err := b.git.MkdirAll(store.FileDir(ref), dirMode); err != nil {
		return err
	}
	// Opened before any change, so that the sync at the end cannot fail for lack of a file
	// descriptor.
	dir, err := b.git.Open(store.FileDir(ref))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := b.git.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return store.Locked(err, "another git program holds .git/%s; if none is running, one has crashed: remove the file", lock)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, to)
	if err = errors.Join(err, f.Close()); err == nil {
		err = b.checkBranch(from)
	}
	if errors.Is(err, store.ErrConflict) {
		b.markMoved()
	}
	if err == nil {
		err = b.objects.sync(lock)
	}
	if err == nil {
		err = b.git.Rename(lock, ref)
	}
	if err != nil {
		return errors.Join(err, removeFile(b.git, lock))
	}
	if err := b.objects.syncRef(dir); err != nil {
		return b.markBroken(err)
	}
	return nil
}

// checkBranch returns ErrConflict unless the branch is at the commit want.
func (b *backend) checkBranch(want plumbing.Hash) error {
	now, err := b.resolve(b.branch)
	if err == nil && now != want {
		err = fmt.Errorf("%w: another program has moved %s to %s; reopen the store", store.ErrConflict, b.branch, now)
	}
	return err
}

// Replaced implements an optional method of store.Backend: another program has moved the branch.
func (b *backend) Replaced() bool {
	if b.broken != nil {
		return true
	}
	// Without go-git, which takes ten times as long. Through the path, because a Root follows a
	// repository that is moved away. A ref that git has packed has no file.
	if ref, err := os.ReadFile(filepath.Join(b.objects.dir, filepath.FromSlash(string(b.branch)))); err == nil && string(ref) == b.head.commit.String()+"\n" {
		return false
	}
	if errors.Is(b.checkBranch(b.head.commit), store.ErrConflict) {
		b.markMoved()
	}
	return b.broken != nil
}

// markMoved makes commits fail until the store is reopened, which sets the files to the new commit.
func (b *backend) markMoved() {
	b.broken = fmt.Errorf("%w: another program has moved %s; reopen the store", store.ErrReadOnly, b.branch)
	// If this fails, opening the store may take the outdated files for edited ones, and says so.
	_ = b.checkpoint(stateMoved)
}

// maxSymbolic is how many symbolic refs are followed, as many as git follows.
const maxSymbolic = 5

// follow returns the branch that a branch is another name of, which is itself unless its ref is
// symbolic. A ref that cannot be read is left to resolve.
func (b *backend) follow(branch plumbing.ReferenceName) (plumbing.ReferenceName, error) {
	name := branch
	for range maxSymbolic {
		ref, err := b.objects.storage.Reference(name)
		if err != nil || ref.Type() != plumbing.SymbolicReference {
			return name, nil
		}
		if name = ref.Target(); !name.IsBranch() || name.Validate() != nil {
			break
		}
	}
	return "", store.Damaged(nil, "%s is a symbolic ref that leads to %s, not to a branch with commits: name one with git symbolic-ref %s",
		branch, name, branch)
}

// resolve returns the zero hash for a ref that does not exist. It is store.ErrDamaged if the file
// of the ref does not name a commit: go-git would go on without one, or with the older one of
// packed-refs.
func (b *backend) resolve(name plumbing.ReferenceName) (plumbing.Hash, error) {
	if text, err := b.git.ReadFile(string(name)); err == nil && !namesCommit(string(text)) {
		return plumbing.ZeroHash, store.Damaged(nil, ".git/%s is damaged and names no commit: restore it from a copy of the "+
			"repository or its remote; git fsck --no-reflogs lists the last commit as dangling", name)
	}
	ref, err := b.objects.storage.Reference(name)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("%s: %w", name, err)
	}
	return ref.Hash(), nil
}

// namesCommit reports whether the file of a ref has a hash, or the name of another ref.
func namesCommit(text string) bool {
	return strings.HasPrefix(text, "ref: ") || plumbing.IsHash(strings.TrimSpace(text))
}

// markBroken makes later commits fail until the store is reopened. It returns err.
func (b *backend) markBroken(err error) error {
	b.broken = fmt.Errorf("%w: an earlier commit failed: %w; reopen the store to repair it", store.ErrReadOnly, err)
	return err
}

// syncFile makes the content of a file, or the entries of a directory, durable.
func syncFile(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
