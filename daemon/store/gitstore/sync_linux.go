package gitstore

import "golang.org/x/sys/unix"

// sync makes all objects and all other changes of the store durable, with one call for the whole
// file system instead of two for each object.
func (o *objects) sync() error {
	if err := unix.Syncfs(int(o.top.Fd())); err != nil {
		return err
	}
	o.unsaved = nil
	return nil
}
