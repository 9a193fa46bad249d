package store

import (
	"errors"
	"fmt"
)

// The conditions a caller can act on (spec 7.2). Match them with errors.Is or
// with the helpers below.
var (
	// ErrNotFound: no document has this path. A directory is not a document.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the document is not in the version the caller expected.
	ErrConflict = errors.New("conflict")
	// ErrReadOnly: the store is closed, or its backend cannot be written.
	ErrReadOnly = errors.New("store is closed or read-only")
	// ErrInvalidPath: the path breaks a path rule, or its place in the tree is
	// taken by a directory or lies below a document. A malformed glob pattern
	// is reported as this too.
	ErrInvalidPath = errors.New("invalid path")
	// ErrSchemaVersion: the data on disk was written by a newer version.
	ErrSchemaVersion = errors.New("unsupported schema version")
)

// Error is what every operation of a Store or Batch fails with (the
// specification's StoreError): the operation, the path it was asked for (empty
// when it concerns no single path), and the cause.
type Error struct {
	Op   string // "read", "write", "append", "delete", "rename", "exists", "stat", "list", "batch", "apply", "push", "pull" or "close"
	Path string
	Err  error
}

// Error gives texts such as "write notes/a.md: conflict". The path is quoted
// when it holds anything a terminal could act on.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + printable(e.Path) + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsNotFound reports whether err is, or wraps, ErrNotFound.
func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// IsInvalidPath reports whether err is, or wraps, ErrInvalidPath.
func IsInvalidPath(err error) bool { return errors.Is(err, ErrInvalidPath) }

// IsReadOnly reports whether err is, or wraps, ErrReadOnly.
func IsReadOnly(err error) bool { return errors.Is(err, ErrReadOnly) }

// wrap names the operation and path of err, once: an error that already
// carries them, such as one a batch function passes on, is returned as it is.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: op, Path: path, Err: err}
}

// printable quotes a path that is not plain readable text.
func printable(path string) string {
	const longest = 200 // bytes of a path that an error text shows
	if len(path) > longest {
		return fmt.Sprintf("%+q...", path[:longest])
	}
	if q := fmt.Sprintf("%q", path); q != `"`+path+`"` {
		return q
	}
	return path
}
