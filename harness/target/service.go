package target

import (
	"context"
	"errors"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// Service is the memory service under test, with everything that a run, a sweep and a replay need.
// An Endpoint is the Service for the protocol over HTTP. Implementations must be safe for
// concurrent use.
type Service interface {
	// URL identifies the service in messages and records.
	URL() string
	// Health returns an error unless the service is alive, and the version that it reports, which
	// may be empty. A *Failure of kind result.KindTransport means that the service no longer
	// answers.
	Health(ctx context.Context) (version string, err error)
	// Answer makes one attempt to answer a question as configured in t. With a *Failure, the answer
	// has the parts that arrived before it. Any other error concerns the whole run.
	Answer(ctx context.Context, t *Target, q dataset.Question) (Answer, error)
	// Store returns the Store for creating and filling brains. d is the spelling of keys in
	// requests.
	Store(d result.Dialect) Store
	Abilities
	// Dialects returns the spellings of keys in replies so far, see Endpoint.Dialects.
	Dialects() []result.Dialect
	// Close releases connections. It does not end a process.
	Close()
}

// Store creates, fills and removes the brains of a service. An id is the service's own name for a
// brain.
type Store interface {
	// Create creates a brain. It returns ErrExists if the brain already exists, and another
	// error if the service returns a brain that it had before.
	Create(ctx context.Context, name string) (id string, err error)
	// Find finds a brain that must contain documents. It returns ErrMissing, or ErrEmpty with a
	// valid id.
	Find(ctx context.Context, name string) (id string, err error)
	// Remove deletes a brain by the id that Create returned or, if that is empty, by its name,
	// for a brain that is known to be from an earlier process. A missing brain is not an error.
	// Remove works even if ctx has ended.
	Remove(ctx context.Context, id, name string) error
	// Write writes documents with at most writers concurrent requests, and sends the last request
	// when all others have finished. It does not wait until the documents are searchable. Writing a
	// document again replaces it.
	Write(ctx context.Context, id string, docs []dataset.Doc, writers int) error
	// Search returns the first topK passages for a query, which is cut to the allowed length.
	Search(ctx context.Context, id, query string, topK int) ([]result.Chunk, error)
	// Apply makes one operation in a brain, by the rules of Write. It returns ErrLacks if the
	// service cannot. If that is known in advance, Service.Lacks says so, see OperationNeeds. Apply
	// does not handle restarts. The caller limits the time of an operation that AsksModel.
	Apply(ctx context.Context, id string, o dataset.Operation) error
}

// Reasons why a brain cannot be evaluated.
var (
	ErrExists  = errors.New("the brain exists already")
	ErrMissing = errors.New("the brain is missing")
	ErrEmpty   = errors.New("the brain is empty")
)
