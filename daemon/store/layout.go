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

// OpenDir opens the directory of a store, and creates it and its parents if they do not exist.
// The name of the Root is an absolute path.
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

// ReadSchema reports whether a store has a file with the version of its layout. Any other version
// than the supported one is ErrSchemaVersion.
func ReadSchema(root *os.Root, file string, supported int) (exists bool, err error) {
	text, err := root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || version < supported {
		return false, UnsupportedSchema("unsupported schema version: %s of the store does not contain a version number "+
			"that this program reads; restore it", file)
	}
	if version > supported {
		return false, UnsupportedSchema(
			"unsupported schema version: the store was written by a newer program: its file %s contains "+
				"version %d, but this program supports version %d; use a newer program", file, version, supported)
	}
	return true, nil
}
