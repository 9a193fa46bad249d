package target

import (
	"context"
	"errors"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// Service is the memory service under test: all that a run, a sweep and a replay need of it. An
// Endpoint is one that speaks the protocol over HTTP. Implementations are safe for concurrent use.
type Service interface {
	// URL says in messages and records where the service is.
	URL() string
	// Health returns an error unless the service is alive, else the version that it reports, which may
	// be empty. A *Failure of the kind result.KindTransport means that nothing answers any more.
	Health(ctx context.Context) (version string, err error)
	// Answer makes one attempt to answer a question as t says. If err is a *Failure, the answer has the
	// parts that arrived before it. Any other error concerns the whole run.
	Answer(ctx context.Context, t *Target, q dataset.Question) (Answer, error)
	// Store returns what creates and fills brains. d is how keys are spelled in requests.
	Store(d result.Dialect) Store
	Abilities
	// Dialects returns how keys were spelled in replies so far, see Endpoint.Dialects.
	Dialects() []result.Dialect
	// Close releases connections. It does not end a process.
	Close()
}

// Store creates, fills and removes the brains of a service. An id is what the service calls a brain.
type Store interface {
	// Create creates a brain. The error is ErrExists if there is one already.
	Create(ctx context.Context, name string) (id string, err error)
	// Find looks for a brain that must exist and contain documents: ErrMissing, ErrEmpty. The id is
	// known also with ErrEmpty.
	Find(ctx context.Context, name string) (id string, err error)
	// Remove deletes a brain by its id or, if that is empty, by its name. It is no error if there is
	// none. It works also if ctx has ended.
	Remove(ctx context.Context, id, name string) error
	// Write writes documents with at most as many requests at a time as writers, and the last one when
	// all others are written. It does not wait until they can be searched. Writing a document again
	// replaces it.
	Write(ctx context.Context, id string, docs []dataset.Doc, writers int) error
	// Search returns the first topK passages for a query, which is cut to what a query may have.
	Search(ctx context.Context, id, query string, topK int) ([]result.Chunk, error)
	// Apply makes one operation in a brain, by the rules of Write. The error is ErrLacks if the service
	// cannot. Service.Lacks says beforehand of which operations that is known, see OperationNeeds. A
	// restart is not the Store's.
	Apply(ctx context.Context, id string, o dataset.Operation) error
}

// Reasons why a brain cannot be evaluated.
var (
	ErrExists  = errors.New("the brain exists already")
	ErrMissing = errors.New("the brain is missing")
	ErrEmpty   = errors.New("the brain is empty")
)
