package brain

import (
	"errors"

	"evalctl/daemon/search"
)

// Sentinels that a caller acts on. Wrapped errors name the brain.
var (
	// ErrNotFound means that no brain has the id.
	ErrNotFound = errors.New("no such brain")
	// ErrExists means that the id or the slug is taken.
	ErrExists = errors.New("brain exists")
	// ErrTooLarge means that a document or a listing passes a limit of spec 8.
	ErrTooLarge = errors.New("too large")
	// ErrClosed means that the service was closed.
	ErrClosed = errors.New("service is closed")
	// ErrSearchModel means that the embedder or the reranker failed.
	ErrSearchModel = errors.New("a model of the search failed")
	// ErrSearchSlow comes with ErrSearchModel when that took too long: its text
	// holds nothing that a model said.
	ErrSearchSlow = search.ErrSlow
	// ErrReaderStopped means that the reader ended its answer before it was
	// complete. The pieces already emitted are what there is of it.
	ErrReaderStopped = errors.New("reader stopped before the end of its answer")
)

// ArgumentError is a request that cannot be served as it stands. Name is the
// wire key of the argument.
type ArgumentError struct {
	Name   string
	Reason string
}

func (e *ArgumentError) Error() string { return e.Name + ": " + e.Reason }
