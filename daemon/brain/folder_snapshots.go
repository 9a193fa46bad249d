package brain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

const (
	snapshotFile = "index.snapshot"
	snapshotTemp = "index.snapshot.new"
)

// Snapshots returns a place for snapshots: a file in each brain's folder, next to the documents and
// never among them. It is usable until f is closed. It does not keep numbers of commits, because
// stores in files count commits from their opening.
func (f *Folder) Snapshots() Snapshots { return folderSnapshots{f} }

type folderSnapshots struct{ folder *Folder }

func (s folderSnapshots) Get(_ context.Context, id string, read func(io.ReaderAt, int64, uint64) error) error {
	info, err := s.folder.root.Lstat(id + "/" + snapshotFile)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s of brain %s is not a file", snapshotFile, id)
	}
	f, err := s.folder.root.Open(id + "/" + snapshotFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w of brain %s", ErrNoSnapshot, id)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return err
	}
	return read(f, info.Size(), 0)
}

func (s folderSnapshots) Put(_ context.Context, id string, _, _ uint64, write func(io.Writer) error) error {
	root, temp := s.folder.root, id+"/"+snapshotTemp
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	if err := root.Rename(temp, id+"/"+snapshotFile); err != nil {
		return err
	}
	return s.folder.sync(id)
}

func (s folderSnapshots) Remove(_ context.Context, id string) error {
	err := s.folder.root.Remove(id + "/" + snapshotFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
