package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// outputFile is where a report goes when it is ready. A file gets it whole or
// not at all: until keep, it stands in a temporary file beside it.
type outputFile struct {
	io.Writer
	file *os.File    // nil for stdout
	path string      // where file goes; empty when it is there already
	mode fs.FileMode // of path
}

// openOutput refuses at once what could not be written at the end. An empty path
// is stdout; what is no regular file, such as a pipe, is written to as it is.
func openOutput(path string, stdout io.Writer) (*outputFile, error) {
	if path == "" {
		return &outputFile{Writer: stdout}, nil
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
			return &outputFile{Writer: f, file: f}, nil
		}
		_ = f.Close() // nothing was written
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("make a file in %s: %w", filepath.Dir(path), e.Err)
	}
	return &outputFile{Writer: temp, file: temp, path: path, mode: mode}, err
}

// keep puts what was written in its place.
func (o *outputFile) keep() error {
	f := o.file
	o.file = nil
	switch {
	case f == nil:
		return nil
	case o.path == "":
		return f.Close()
	}
	err := errors.Join(f.Chmod(o.mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), o.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// discard leaves the file as it was, unless keep was called.
func (o *outputFile) discard() {
	if o.file == nil {
		return
	}
	_ = o.file.Close()
	if o.path != "" {
		_ = os.Remove(o.file.Name())
	}
}
