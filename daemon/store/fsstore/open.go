package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"evalctl/daemon/store"
)

// schemaVersion counts the layouts that an older version could not read.
const schemaVersion = 1

func open(ctx context.Context, dir string) (_ *backend, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	b := &backend{dir: dir, home: root, lock: flock.New(filepath.Join(dir, lockFile))}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release())
		}
	}()
	for _, name := range []string{stateDir, undoDir, documentsDir} {
		if err := makeDir(root, name); err != nil {
			return nil, err
		}
	}
	if err := b.acquire(); err != nil {
		return nil, err
	}
	version, err := readSchema(root)
	if err != nil {
		return nil, err
	}
	if b.Root, err = root.OpenRoot(documentsDir); err != nil {
		return nil, err
	}
	if b.journal, err = root.OpenFile(journalFile, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return nil, err
	}
	if err := b.repair(); err != nil {
		return nil, err
	}
	if version == 0 {
		err = b.writeSchema()
	}
	return b, err
}

// makeDir insists on a directory of ours: a link could make a document path
// lead to the state of the store.
func makeDir(root *os.Root, name string) error {
	if err := root.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", name)
	}
	return err
}

func (b *backend) acquire() error {
	locked, err := b.lock.TryLock()
	if err == nil && !locked {
		err = errors.New("in use by another process or another open store; close it first")
	}
	return err
}

// readSchema returns 0 for a store that is not yet made.
func readSchema(root *os.Root) (int, error) {
	text, err := root.ReadFile(schemaFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || version < 1 {
		return 0, fmt.Errorf("%w: %s does not hold a version number", store.ErrSchemaVersion, schemaFile)
	}
	if version > schemaVersion {
		return 0, fmt.Errorf("%w: %s says %d, this program knows up to %d; use a newer one",
			store.ErrSchemaVersion, schemaFile, version, schemaVersion)
	}
	return version, nil
}

// writeSchema is the end of making a store: it also brings the new directories
// to disk, those above the store included.
func (b *backend) writeSchema() error {
	if err := b.stage(fmt.Appendln(nil, schemaVersion), time.Now()); err != nil {
		return err
	}
	if err := b.home.Rename(stagedFile, schemaFile); err != nil {
		return err
	}
	return syncAll(b)
}

// repair finishes the batch that the journal holds, if any, and removes what
// a crash left behind.
func (b *backend) repair() error {
	entry, ok, err := readJournal(b.journal)
	if err != nil {
		return err
	}
	if ok {
		if _, err := b.apply(entry); err != nil {
			return fmt.Errorf("finish interrupted batch: %w", err)
		}
		if err := syncAll(b); err != nil {
			return err
		}
	}
	if err := b.clearJournal(); err != nil {
		return err
	}
	if err := b.home.Remove(stagedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := b.home.RemoveAll(undoDir); err != nil {
		return err
	}
	if err := b.home.Mkdir(undoDir, dirMode); err != nil {
		return err
	}
	err = b.home.Remove(closedFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = b.PruneTree() // a look at every file, which only a crash makes necessary
	}
	if err != nil {
		return err
	}
	return syncDir(b.home, stateDir)
}
