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

// Backup renames the file at path to <name>.<HHMMSS><ext>, the UTC time of its last change, with a
// number after the time if that name is taken. It returns the new name, which is empty if there is
// no such file.
func Backup(path string) (string, error) {
	backup, err := backupName(path)
	if err != nil || backup == "" {
		return "", err
	}
	return backup, os.Rename(path, backup)
}

// Keep is Backup that also leaves the file in place: the backup is a second name of it, or a copy
// where the file system has no hard links.
func Keep(path string) (string, error) {
	backup, err := backupName(path)
	if err != nil || backup == "" {
		return "", err
	}
	return backup, Link(path, backup)
}

func backupName(path string) (string, error) {
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
			return backup, nil
		}
	}
}

// Link replaces the file at path by a hard link to the file from, which is in the same folder, or
// by a copy where the file system has no hard links. A crash leaves path unchanged or complete.
func Link(from, path string) error {
	temp, err := freeName(path)
	if err != nil {
		return err
	}
	if os.Link(from, temp) != nil {
		return replaceByCopy(from, path)
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", path, reason(err)), os.Remove(temp))
	}
	// If both names are the same file already, rename leaves both of them.
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// freeName returns a name for a temporary file that is not taken.
func freeName(path string) (string, error) {
	f, err := createTemp(path)
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Close(), os.Remove(f.Name()))
}

func replaceByCopy(from, path string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	return Write(path, info.Mode().Perm(), func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}
