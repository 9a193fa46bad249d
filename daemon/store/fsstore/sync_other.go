//go:build !linux

package fsstore

import (
	"errors"
	"io/fs"
)

// syncAll makes all changes of the store durable. Without a system call for the whole filesystem
// it syncs every file and directory.
func syncAll(b *backend) error {
	return fs.WalkDir(b.home.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		f, err := b.home.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
