//go:build !linux

package gitstore

import (
	"os"
	"slices"
)

// syncFiles makes the contents of files durable. It does not sync the files of the worktree,
// because they can be restored from the objects.
func (o *objects) syncFiles(files []string) error {
	for _, file := range files {
		if err := syncFile(o.root, file); err != nil {
			return err
		}
	}
	return nil
}

// syncNames makes the names of objects in directories durable.
func (o *objects) syncNames(dirs []string) error {
	slices.Sort(dirs)
	return o.syncFiles(slices.Compact(dirs))
}

// syncRef makes the new name of a ref in dir durable.
func (o *objects) syncRef(dir *os.File) error { return dir.Sync() }
