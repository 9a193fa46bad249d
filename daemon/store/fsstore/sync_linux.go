package fsstore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes all changes of the store durable, with one call for the whole file system instead
// of one for each file.
func syncAll(home *os.Root) error {
	f, err := home.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// syncedFile is a logFile.
type syncedFile struct{ *os.File }

func (f syncedFile) datasync() error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
