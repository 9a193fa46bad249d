package fsstore

import "golang.org/x/sys/unix"

// syncAll makes all changes of the store durable, with one call for the whole filesystem instead
// of one for each file.
func syncAll(b *backend) error { return unix.Syncfs(int(b.journal.Fd())) }
