package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Output is the destination of a report. A regular file is replaced once the report is
// complete.
type Output struct {
	io.Writer
	Keep    func() error // completes the output
	Discard func()       // leaves a regular file as it was, unless Keep was called
}

// OpenOutput fails early for a path that could not be written at the end. An empty path means
// stdout. If path is not a regular file, for example a pipe, it is written to directly.
func OpenOutput(path string, stdout io.Writer) (*Output, error) {
	if path == "" {
		return &Output{stdout, func() error { return nil }, func() {}}, nil
	}
	mode := fs.FileMode(0o644)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file in it", path)
	case err == nil:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return &Output{f, f.Close, func() { _ = f.Close() }}, nil
		}
		_ = f.Close() // nothing was written
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := Create(path, mode)
	if err != nil {
		return nil, err
	}
	return &Output{f, f.Commit, func() { _ = f.Discard() }}, nil
}
