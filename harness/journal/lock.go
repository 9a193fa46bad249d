package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"evalctl/internal/atomicfile"

	"github.com/gofrs/flock"
)

// errBusy means that another process owns the journal or output folder.
var errBusy = errors.New("another run is in progress")

// LockOutput creates a result folder and locks one SDK's files in it, the daemon's log and the
// output files, until release is called or the process ends. It is an error if another process has
// the lock.
func LockOutput(dir, sdk string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the result folder: %w; give another --output", err)
	}
	path := filepath.Join(dir, sdk+".lock")
	for {
		l := flock.New(path)
		ok, err := l.TryLock()
		if err == nil && !ok {
			err = fmt.Errorf("%w; wait for it, or give a new run another --output", errBusy)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Close())
		}
		locked, errL := l.Stat()
		named, errN := os.Stat(path)
		if errL == nil && errN == nil && os.SameFile(locked, named) {
			return func() {
				_ = os.Remove(path) // a file that remains is not locked
				_ = l.Close()
			}, nil
		}
		_ = l.Close() // the previous owner has just removed the file
	}
}

// DaemonLog returns the path for the log of an SDK's daemon in a folder locked by LockOutput. It
// keeps an earlier run's log as a backup.
func DaemonLog(dir, sdk string) (string, error) {
	log := filepath.Join(dir, sdk+".daemon.log")
	if _, err := atomicfile.Backup(log); err != nil {
		return "", fmt.Errorf("keep the daemon log of an earlier run: %w", err)
	}
	return log, nil
}
