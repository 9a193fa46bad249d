package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"evalctl/daemon/protocol"
)

// fileTimeout limits how long reading one file takes, of a network for example.
const fileTimeout = 30 * time.Second

// Files are the folders whose files memory_ingest_file reads. It is safe for concurrent use.
type Files struct {
	roots []*os.Root
	names []string // absolute
}

// OpenFiles opens folders. No path and no symbolic link below them leads out of them. The caller
// must call Close. Without folders it returns nil, and no file can be read.
func OpenFiles(folders []string) (*Files, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	f := &Files{}
	for _, folder := range folders {
		name, err := filepath.Abs(folder)
		if err == nil {
			var root *os.Root
			if root, err = os.OpenRoot(name); err == nil {
				f.roots, f.names = append(f.roots, root), append(f.names, name)
				continue
			}
		}
		return nil, errors.Join(fmt.Errorf("files of %s: %w", folder, err), f.Close())
	}
	return f, nil
}

// Close closes the folders, if there are any.
func (f *Files) Close() error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, r := range f.roots {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// read reads a file below one of the folders. It reads only regular files, because others may block
// or never end. A relative path starts at the working directory of the process.
func (f *Files) read(ctx context.Context, path string) ([]byte, error) {
	root, below, err := f.find(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() { // a system call cannot be canceled
		data, err := readBelow(root, below, path)
		done <- outcome{data, err}
	}()
	select {
	case o := <-done:
		return o.data, o.err
	case <-ctx.Done():
		return nil, &toolError{Code: protocol.CodeValidation, Message: fmt.Sprintf(
			"path: reading %q was stopped after %v at most: %v", path, fileTimeout, context.Cause(ctx))}
	}
}

// find returns the folder that a path is in, and the rest of the path.
func (f *Files) find(path string) (*os.Root, string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, "", fileError(path, err)
	}
	for i, name := range f.names {
		if below, err := filepath.Rel(name, abs); err == nil && filepath.IsLocal(below) {
			return f.roots[i], below, nil
		}
	}
	return nil, "", argumentErrorf("path: %q is not below a folder whose files this server may read: %s; "+
		"start it with --ingest-files FOLDER for another one", path, strings.Join(f.names, ", "))
}

func readBelow(root *os.Root, below, path string) ([]byte, error) {
	info, err := root.Stat(below)
	if err != nil {
		return nil, fileError(path, err)
	}
	if err := checkFile(path, info); err != nil { // opening a device may have effects
		return nil, err
	}
	// Another file may have taken its place: a FIFO must not block.
	f, err := root.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, fileError(path, err)
	}
	if err := checkFile(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, protocol.MaxIngestBytes+1))
	if err != nil {
		return nil, fileError(path, err)
	}
	if len(data) > protocol.MaxIngestBytes { // it has grown
		return nil, fileTooLarge(path, int64(len(data)))
	}
	return data, nil
}

func checkFile(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return argumentErrorf("path: %q is a directory, not a file", path)
	case !info.Mode().IsRegular():
		return argumentErrorf("path: %q is not a regular file", path)
	case info.Size() > protocol.MaxIngestBytes:
		return fileTooLarge(path, info.Size())
	}
	return nil
}

func fileTooLarge(path string, size int64) error {
	return &toolError{Code: protocol.CodeFileTooLarge, Message: fmt.Sprintf(
		"%q has %d bytes, the limit is %d (25 MiB)", path, size, protocol.MaxIngestBytes)}
}

// fileError gives an error of the file system a code. It names the path as it was given.
func fileError(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	code := protocol.CodeValidation
	if errors.Is(err, fs.ErrNotExist) {
		code = protocol.CodeNotFound
	}
	return &toolError{Code: code, Message: fmt.Sprintf("path: %q cannot be read: %v", path, err)}
}
