package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"evalctl/internal/atomicfile"
)

// outputFile is the destination of a report. A regular file is replaced once the report is
// complete.
type outputFile struct {
	io.Writer
	keep    func() error // completes the output
	discard func()       // leaves a regular file as it was, unless keep was called
}

// openOutput fails early for a path that could not be written at the end. An empty path means
// stdout. If path is not a regular file, for example a pipe, it is written to directly.
func openOutput(path string, stdout io.Writer) (*outputFile, error) {
	if path == "" {
		return &outputFile{stdout, func() error { return nil }, func() {}}, nil
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
			return &outputFile{f, f.Close, func() { _ = f.Close() }}, nil
		}
		_ = f.Close() // nothing was written
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := atomicfile.Create(path, mode)
	if err != nil {
		return nil, err
	}
	return &outputFile{f, f.Commit, func() { _ = f.Discard() }}, nil
}
