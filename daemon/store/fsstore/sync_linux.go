package fsstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes all changes of the store durable, with one call for the whole file system instead
// of one for each file.
func syncAll(_ *os.Root, top *os.File) error { return unix.Syncfs(int(top.Fd())) }

// syncedFile is a logFile.
type syncedFile struct{ *os.File }

func (f syncedFile) datasync() error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
