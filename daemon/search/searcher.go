package search

import (
	"context"
	"errors"
	"fmt"
)

// Embedder turns texts into vectors. It must be safe for concurrent use.
type Embedder interface {
	// Name identifies the model, as in "openai/text-embedding-3-small": vectors
	// of different names are not comparable.
	Name() string
	// Embed returns one vector for each text, in order, all of the same length.
	// Vectors need not be of unit length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Reranker scores texts for a query, in order: higher is better. It must be
// safe for concurrent use.
type Reranker interface {
	Name() string
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// ErrNoEmbedder and ErrNoReranker mean that a mode needs what Config lacks.
var (
	ErrNoEmbedder = errors.New("no embedder is configured")
	ErrNoReranker = errors.New("no reranker is configured")
)

// ModelError says that an embedder or a reranker failed, and not the query.
type ModelError struct {
	Model string // its Name
	Err   error
}

func (e *ModelError) Error() string { return e.Model + ": " + e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// Config of a Searcher. All of it is optional.
type Config struct {
	Embedder Embedder // for semantic, hybrid and hybrid-rerank
	Reranker Reranker // for hybrid-rerank
	// Degrade runs a lower mode, named in Result.Mode, where the embedder or
	// the reranker fails. Without it their errors are the caller's.
	Degrade bool
}

// Searcher answers queries in every mode over one Index. It is safe for
// concurrent use.
type Searcher struct {
	index *Index
	cfg   Config
}

// NewSearcher searches ix.
func NewSearcher(ix *Index, cfg Config) *Searcher {
	return &Searcher{index: ix, cfg: cfg}
}

// Search ranks by the query's mode.
func (s *Searcher) Search(_ context.Context, q Query) (Result, error) {
	switch q.Mode {
	case "", Auto, BM25:
		return s.index.Search(q), nil
	}
	return Result{}, fmt.Errorf("mode %s: %w", q.Mode, ErrNoEmbedder)
}
