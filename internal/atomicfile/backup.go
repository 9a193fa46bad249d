package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteNew is Write that keeps a file which is there already as a backup.
func WriteNew(path string, perm fs.FileMode, content func(io.Writer) error) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	err = content(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = Backup(path)
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// Backup renames the file at path to <name>.<HHMMSS><ext>, the UTC time of its last change, with a
// number after the time if that name is taken. It returns the new name, which is empty when there
// is no such file.
func Backup(path string) (string, error) {
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
		backup := base + ext
		if i > 1 {
			backup = fmt.Sprintf("%s-%d%s", base, i, ext)
		}
		if _, err := os.Lstat(backup); errors.Is(err, fs.ErrNotExist) {
			return backup, os.Rename(path, backup)
		}
	}
}
