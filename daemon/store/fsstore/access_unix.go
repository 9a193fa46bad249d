//go:build unix

package fsstore

import "golang.org/x/sys/unix"

// mayWrite reports whether files in a folder can be created and removed.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
