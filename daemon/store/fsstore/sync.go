package fsstore

import (
	"errors"
	"os"
)

// syncDir makes the entries of a directory durable.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
