package mcpserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"evalctl/daemon/protocol"
)

// readFile reads a file of this machine for memory_ingest_file. Only regular files are read,
// because others may block or never end. A symbolic link is followed: the path is the user's.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if err := checkFile(path, info); err != nil { // opening a device may have effects
		return nil, err
	}
	// Another file may have taken its place: a FIFO must not block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
