package brain

import (
	"context"
	"errors"

	"evalctl/daemon/search"
)

// Errors that a caller may act on. Wrapped errors name the brain.
var (
	// ErrNotFound means that no brain has the id.
	ErrNotFound = errors.New("no such brain")
	// ErrExists means that the id or the slug is taken.
	ErrExists = errors.New("brain exists")
	// ErrInUse means that another process has locked the directory of the brains.
	ErrInUse = errors.New("in use by another daemon")
	// ErrClosed means that the service was closed.
	ErrClosed = errors.New("service is closed")
	// ErrOpen means that the documents of a brain cannot be opened.
	ErrOpen = errors.New("cannot open the documents of brain")
	// ErrSearchModel means that the embedder or the reranker failed.
	ErrSearchModel = errors.New("a model of the search failed")
	// ErrSearchSlow accompanies ErrSearchModel when the model took too long. Its text
	// contains nothing from the model.
	ErrSearchSlow = search.ErrSlow
)

// UnfinishedError is an ErrSearchSlow of passages that are still to be embedded.
type UnfinishedError = search.UnfinishedError

// isContextError reports whether an operation failed because its caller gave up.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ArgumentError reports an invalid argument of a request, such as the id of a brain. Name is the
// wire key of the argument.
type ArgumentError struct {
	Name   string
	Reason string
}

func (e *ArgumentError) Error() string { return e.Name + ": " + e.Reason }
