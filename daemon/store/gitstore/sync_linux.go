package gitstore

import "golang.org/x/sys/unix"

// sync makes every object, and every other change of the store, durable, with
// one call for the whole filesystem instead of two an object.
func (o *objects) sync() error {
	f, err := o.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return err
	}
	o.unsaved = nil
	return nil
}
