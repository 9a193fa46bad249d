package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Resolve returns the result file for a path: the file itself, or the newest run or replay in a
// folder, also written as latest in the folder.
func Resolve(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return path, nil
	case err == nil:
		return newest(path)
	case errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == "latest":
		return newest(filepath.Dir(path))
	}
	return "", fmt.Errorf("%w; evalctl show list shows what there is", err)
}

// newest returns the newest run or replay in a folder.
func newest(dir string) (string, error) {
	f, err := Read(dir, time.Time{})
	if err != nil {
		return "", fmt.Errorf("%w; evalctl run writes results, or name another folder", err)
	}
	for _, e := range f.Entries {
		if e.Result != nil {
			return e.Path, nil
		}
	}
	if len(f.Unreadable) > 0 {
		return "", fmt.Errorf("no result in %s can be read: %s", dir, f.Unreadable[0].Reason)
	}
	return "", fmt.Errorf("no results in %s: evalctl run writes them, or name another folder", dir)
}
