//go:build !linux

package gitstore

import "evalctl/daemon/store"

// sync makes all objects durable. It does not sync the files of the worktree, because they can be
// restored from the objects.
func (o *objects) sync() error {
	dirs := map[string]bool{"objects": true, stagedDir: true}
	for _, file := range o.unsaved {
		if err := syncFile(o.root, file); err != nil {
			return err
		}
		dirs[store.FileDir(file)] = true
	}
	for dir := range dirs {
		if err := syncFile(o.root, dir); err != nil {
			return err
		}
	}
	o.unsaved = nil
	return nil
}
