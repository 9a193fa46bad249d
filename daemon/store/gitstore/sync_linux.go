package gitstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFiles makes the files, and all other changes of the store, durable, with one call for the
// whole file system instead of one for each file.
func (o *objects) syncFiles([]string) error { return unix.Syncfs(int(o.top.Fd())) }

// syncNames leaves it to syncRef to make the names of objects durable. After a power failure, a
// file system has no rename without the ones before it, unless a program syncs a single file or
// folder.
func (o *objects) syncNames([]string) error { return nil }

// syncRef makes the new name of a ref in dir durable, and the names of objects before it.
func (o *objects) syncRef(*os.File) error { return o.syncFiles(nil) }
