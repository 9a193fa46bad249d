package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"

	"evalctl/daemon/store"
)

// moveBranch is where a commit happens: it lets the branch go from one commit
// to the next, or fails and leaves it. Everything the next commit needs is on
// disk before. It takes the lock file that the git program takes, and replaces
// the ref by renaming; go-git would write into it, and leave it empty when
// interrupted.
func (b *backend) moveBranch(from, to plumbing.Hash) error {
	ref := string(b.branch)
	lock := ref + ".lock"
	if err := b.git.MkdirAll(store.FileDir(ref), dirMode); err != nil {
		return err
	}
	// Open before anything has changed: the sync must not fail for want of a descriptor.
	dir, err := b.git.Open(store.FileDir(ref))
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := b.git.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; another git program is at work, or one died and the file is to be removed", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, to)
	if err = errors.Join(err, f.Close()); err == nil {
		err = b.expectBranch(from)
	}
	if err == nil {
		b.objects.unsaved = append(b.objects.unsaved, lock)
		err = b.objects.sync()
	}
	if err == nil {
		err = b.git.Rename(lock, ref)
	}
	if err != nil {
		return errors.Join(err, removeFile(b.git, lock))
	}
	if err := dir.Sync(); err != nil {
		return b.fail(err)
	}
	return nil
}

func (b *backend) expectBranch(want plumbing.Hash) error {
	now, err := b.resolve(b.branch)
	if err == nil && now != want {
		err = fmt.Errorf("%w: %s was moved to %s by somebody else; open the store again", store.ErrConflict, b.branch, now)
	}
	return err
}

// resolve returns the zero hash for a ref that does not exist.
func (b *backend) resolve(name plumbing.ReferenceName) (plumbing.Hash, error) {
	ref, err := b.objects.storage.Reference(name)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("%s: %w", name, err)
	}
	return ref.Hash(), nil
}

// fail makes later commits fail until the store is opened again.
func (b *backend) fail(err error) error {
	b.broken = fmt.Errorf("%w: an earlier commit hit %w; open the store again to repair it", store.ErrReadOnly, err)
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
