package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
func writeAtomic(path string, write func(io.Writer) error) (err error) {
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
	if _, err = keepAside(path); err != nil {
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

// Prepare makes the result folder of a run and gives the file for its daemon's
// log; the log of an earlier run is kept aside. A folder in which another run of
// the SDK is going on is ErrBusy. resumed is set when the caller holds the
// journal already.
func Prepare(dir, sdk string, resumed bool) (log string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the result folder: %w", err)
	}
	if !resumed {
		j, err := openJournal(filepath.Join(dir, sdk+".journal"), os.O_RDWR)
		switch {
		case err == nil:
			_ = j.Close() // it was only looked at
		case errors.Is(err, ErrBusy):
			return "", fmt.Errorf("%w; wait for it, or give another --output", err)
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	log = filepath.Join(dir, sdk+".daemon.log")
	if _, err := keepAside(log); err != nil {
		return "", fmt.Errorf("keep the daemon log of an earlier run: %w", err)
	}
	return log, nil
}
