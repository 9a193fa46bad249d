//go:build !linux

package fsstore

import (
	"errors"
	"io/fs"
	"os"
)

// syncAll makes all changes of the store durable. Without a system call for the whole filesystem
// it syncs every file and directory.
func syncAll(home *os.Root, _ *os.File) error {
	return fs.WalkDir(home.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		f, err := home.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// syncedFile is a logFile.
type syncedFile struct{ *os.File }

func (f syncedFile) datasync() error { return f.Sync() }
