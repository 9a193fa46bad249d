package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OpenDir opens the directory of a store, and creates it and its parents if they do not exist. The
// name of the Root is an absolute path.
func OpenDir(ctx context.Context, dir string) (*os.Root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// ReadSchema reads the version of a store's layout from a file. It returns 0 if there is no such
// file. A version above newest is ErrSchemaVersion, and a file without a version ErrDamaged.
func ReadSchema(root *os.Root, file string, newest int) (version int, err error) {
	text, err := root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || version < 1 {
		return 0, Damaged(nil, "the file %s of the store does not contain a version number: restore it", file)
	}
	if version > newest {
		return 0, UnsupportedSchema("the store was written by a newer program: its file %s contains version %d, but this "+
			"program reads versions up to %d: use the newer program", file, version, newest)
	}
	return version, nil
}

// Torn reports whether found can be the content of a file after data was written to it without a
// sync and the machine crashed: data or its beginning, with some parts replaced by zeros.
func Torn(found, data []byte) bool {
	if len(found) > len(data) {
		return false
	}
	for i, c := range found {
		if c != data[i] && c != 0 {
			return false
		}
	}
	return true
}
