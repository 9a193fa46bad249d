package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CheckNew returns an error for a path that exists, or whose folder does not. It is for commands
// that replace nothing.
func CheckNew(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already; remove it, or choose another name", path)
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if dir := filepath.Dir(path); dir != "." {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a folder; create it first", dir)
		}
	}
	return nil
}
