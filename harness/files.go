package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// keepAside renames a file to <name>.<HHMMSS>.<ext>, the time of its last
// change in UTC, so that a new one can take its place, and tells the new name;
// empty when there is no such file.
func keepAside(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	ext := filepath.Ext(path)
	base := strings.TrimSuffix(path, ext) + "." + info.ModTime().UTC().Format("150405")
	for i := 1; ; i++ {
		kept := base + ext
		if i > 1 {
			kept = fmt.Sprintf("%s-%d%s", base, i, ext)
		}
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			return kept, os.Rename(path, kept)
		}
	}
}

// writeAtomic makes path whole or not at all: a temporary file beside it,
// synced and renamed. A file that was there is kept aside.
func writeAtomic(path string, write func(io.Writer) error) error {
	return writeWhole(path, write, func() error {
		_, err := keepAside(path)
		return err
	})
}

// replaceAtomic is writeAtomic in the place of a file that is given up.
func replaceAtomic(path string, write func(io.Writer) error) error {
	return writeWhole(path, write, func() error { return nil })
}

// writeWhole calls clear once all is written, before path is renamed to.
func writeWhole(path string, write func(io.Writer) error, clear func() error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = clear(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Claim makes a result folder and reserves what one SDK has in it, the daemon's
// log and the files that a run or a sweep writes, until release is called or the
// process ends. While another process holds it the error is ErrBusy.
func Claim(dir, sdk string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the result folder: %w", err)
	}
	path := filepath.Join(dir, sdk+".lock")
	for {
		l := flock.New(path)
		ok, err := l.TryLock()
		if err == nil && !ok {
			err = fmt.Errorf("%w; wait for it, or give a new run another --output", ErrBusy)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Close())
		}
		locked, errL := l.Stat()
		named, errN := os.Stat(path)
		if errL == nil && errN == nil && os.SameFile(locked, named) {
			return func() {
				_ = os.Remove(path) // one that stays locks nothing
				_ = l.Close()
			}, nil
		}
		_ = l.Close() // whoever had it has just removed it
	}
}

// DaemonLog gives the file for the log of an SDK's daemon, in a folder that was
// claimed; the log of an earlier run is kept aside.
func DaemonLog(dir, sdk string) (string, error) {
	log := filepath.Join(dir, sdk+".daemon.log")
	if _, err := keepAside(log); err != nil {
		return "", fmt.Errorf("keep the daemon log of an earlier run: %w", err)
	}
	return log, nil
}
