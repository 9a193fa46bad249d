package gitstore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"evalctl/daemon/store"
)

const (
	indexFile = "index"
	indexLock = "index.lock"
	markFile  = stateDir + "/index.lock"
	// indexMark distinguishes a lock of this package, which a crash can leave behind, from a git
	// program's. The process that holds lockFile may take it over.
	indexMark = "held by gitstore while the store is open\n"
)

// lockIndex prevents git programs from changing the index, the branch and the files while the store
// does.
//
// The lock is created with the mark in it and then linked into place. If it were created empty, a
// crash or a full disk could leave an empty lock, which looks like a git program's: git writes to
// the lock only at the end.
func (b *backend) lockIndex() error {
	err := b.writeMark()
	if err == nil {
		err = b.git.Link(markFile, indexLock)
	}
	if removeErr := removeFile(b.git, markFile); removeErr != nil {
		return errors.Join(err, removeErr)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	text, readErr := b.git.ReadFile(indexLock)
	if readErr == nil && string(text) == indexMark {
		return nil
	}
	return store.Locked(err, "another git program holds .git/%s; if none is running, one has crashed: remove the file", indexLock)
}

// writeMark creates markFile. It never writes to an existing file, which can have a second link at
// indexLock after a crash.
func (b *backend) writeMark() error {
	if err := removeFile(b.git, markFile); err != nil {
		return err
	}
	f, err := b.git.OpenFile(markFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(indexMark)
	return errors.Join(err, f.Sync(), f.Close())
}

// unlockIndex also succeeds if the lock is gone: git recommends removing it by hand.
func (b *backend) unlockIndex() error { return removeFile(b.git, indexLock) }

// writeIndex sets the index to HEAD, as git read-tree HEAD does.
func (b *backend) writeIndex() error {
	entries, err := b.headEntries()
	if err != nil {
		return err
	}
	data, _ := encodeIndex(entries, nil)
	if err := b.replaceFile(indexFile, data); err != nil {
		return err
	}
	b.index = nil
	return b.removeShared("")
}

// headEntries returns the entries of an index that is equal to HEAD.
func (b *backend) headEntries() ([]change, error) {
	entries, others, err := b.objects.changes(plumbing.ZeroHash, b.head.tree)
	if err != nil {
		return nil, err
	}
	for i, c := range entries {
		entries[i].absent = b.unfit[c.path] != ""
	}
	for _, c := range others {
		inner, err := b.objects.files(c, 0)
		if err != nil {
			return nil, err
		}
		for _, c := range inner {
			_, err := b.Root.Lstat(c.path)
			c.absent = err != nil
			entries = append(entries, c)
		}
	}
	slices.SortFunc(entries, func(a, b change) int { return cmp.Compare(a.path, b.path) })
	return entries, nil
}

// files returns c or, if it is a directory, all entries below it that an index can have.
func (o *objects) files(c change, depth int) (list []change, err error) {
	const deepest = 512 // of what git can check out
	if depth > deepest || reserved(c.path) != nil && !strings.EqualFold(path.Base(c.path), ".gitmodules") {
		return nil, nil
	}
	if c.mode != filemode.Dir {
		return []change{c}, nil
	}
	entries, err := o.tree(c.hash)
	for name, e := range entries {
		if strings.Contains(name, "/") {
			continue
		}
		inner, err := o.files(change{path: c.path + "/" + name, hash: e.Hash, mode: e.Mode}, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, inner...)
	}
	return list, err
}

// removeShared removes all shared indexes except one. Only replaced indexes refer to the others.
func (b *backend) removeShared(except string) error {
	names, err := fs.Glob(b.git.FS(), sharedPrefix+"*")
	for _, name := range names {
		if name != except {
			err = errors.Join(err, removeFile(b.git, name))
		}
	}
	return err
}
