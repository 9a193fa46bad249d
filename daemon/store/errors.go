package store

import (
	"errors"
	"fmt"
)

// Errors that a caller can act on (most are of spec 7.2). Match them with errors.Is or with the
// functions below.
var (
	// ErrNotFound: there is no document at this path. A directory is not a document.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the document does not have the version that the caller expected.
	ErrConflict = errors.New("conflict")
	// ErrReadOnly: the store is closed, or its backend cannot be written to.
	ErrReadOnly = errors.New("store is closed or read-only")
	// ErrInvalidPath: the path breaks a path rule, or is a directory, or is below a document. A
	// malformed glob pattern is this error too.
	ErrInvalidPath = errors.New("invalid path")
	// ErrSchemaVersion: the data on disk was written by a newer version.
	ErrSchemaVersion = errors.New("unsupported schema version")
	// ErrDamaged: the data on disk is incomplete or inconsistent, and a person has to decide.
	ErrDamaged = errors.New("damaged")
	// ErrUnavailable: the server that keeps the documents does not answer or is overloaded. Trying
	// again later may help.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrGone: the documents were deleted as a whole, with their brain.
	ErrGone = errors.New("documents were deleted")
	// ErrPruned: the changes after a commit are no longer kept, or the commit was undone.
	ErrPruned = errors.New("changes are no longer kept")
	// ErrLocked: another program uses the data at present.
	ErrLocked = errors.New("locked by another program")
)

// Error is the error of every operation of a Store or Batch (the specification's StoreError).
type Error struct {
	// Op is "read", "write", "append", "delete", "rename", "exists", "stat", "list", "batch",
	// "apply", "sync", "push", "pull" or "close".
	Op   string
	Path string // as passed by the caller; empty if the operation has no single path
	Err  error
}

// Error returns a text such as "write notes/a.md: conflict". The path is quoted if it contains
// control characters.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + quotePath(e.Path) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsNotFound reports whether err is, or wraps, ErrNotFound.
func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// IsInvalidPath reports whether err is, or wraps, ErrInvalidPath.
func IsInvalidPath(err error) bool { return errors.Is(err, ErrInvalidPath) }

// IsReadOnly reports whether err is, or wraps, ErrReadOnly.
func IsReadOnly(err error) bool { return errors.Is(err, ErrReadOnly) }

// wrap adds the operation and the path to err, unless err already has them, as an error from a
// batch function may.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: op, Path: path, Err: err}
}

// quotePath quotes a path that is not plain printable text, and shortens a long one.
func quotePath(path string) string {
	const longest = 200 // bytes of a path in an error text
	if len(path) > longest {
		return fmt.Sprintf("%+q...", path[:longest])
	}
	if q := fmt.Sprintf("%q", path); q != `"`+path+`"` {
		return q
	}
	return path
}
