package fsstore

import "golang.org/x/sys/unix"

// syncAll makes every change of the store durable, with one call for the whole
// filesystem instead of one a file.
func syncAll(b *backend) error { return unix.Syncfs(int(b.journal.Fd())) }
