package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

const (
	indexFile = "index"
	indexLock = "index.lock"
	markFile  = stateDir + "/index.lock"
	// indexMark tells a lock of ours, which a crash can leave, from one of a
	// git program. Whoever holds lockFile may take it over.
	indexMark = "held by gitstore while the store is open\n"
)

// lockIndex keeps git programs from committing what is in the index: while the
// store is open it lags behind, so that would undo the store's commits.
//
// The lock is linked into place with its mark in it: one that is still empty, after a crash
// or on a full disk, could as well be that of a git program, which holds it empty
// until it is done.
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
	return fmt.Errorf("%w; another git program is at work, or one died and the file is to be removed", err)
}

// writeMark never writes to a file that a crash has left, which can be linked.
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

func (b *backend) unlockIndex() error { return b.git.Remove(indexLock) }

// writeIndex does what git read-tree HEAD does.
func (b *backend) writeIndex() error {
	documents, err := b.objects.changes(plumbing.ZeroHash, b.head.tree)
	if err != nil {
		return err
	}
	idx := index.Index{Version: 2}
	for _, c := range documents {
		idx.Entries = append(idx.Entries, &index.Entry{Name: c.path, Hash: c.hash, Mode: c.mode})
	}
	var data bytes.Buffer
	if err := index.NewEncoder(&data).Encode(&idx); err != nil {
		return err
	}
	return b.replace(indexFile, data.Bytes())
}
