package fsstore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes all changes of the store durable, with one call for the whole filesystem instead
// of one for each file.
func syncAll(home *os.Root) error {
	f, err := home.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// longestName returns the longest name of a file in bytes.
func longestName(home *os.Root) (int, error) {
	var info unix.Statfs_t
	err := unix.Statfs(home.Name(), &info)
	return int(info.Namelen), err
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
