package search

import "context"

// Embedder converts texts to vectors. It must be safe for concurrent use, and return soon after its
// context has ended.
type Embedder interface {
	// Name identifies the model, as in "openai/text-embedding-3-small". Vectors of different names
	// are not comparable.
	Name() string
	// Embed returns one vector for each text, in order, all with the same number of dimensions.
	// Vectors need not have unit length, but one of length 0 is an error. With a Refusal, Embed
	// returns the vectors of the other texts.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Refusal is the error of an Embedder that concerns some of the texts only, such as texts that are
// too long for it. A refused passage has no vector and is found by its words only. It is not
// embedded again until its document changes or the Index is rebuilt.
type Refusal interface {
	error
	// Refused returns the places of the refused texts in the call, at least one.
	Refused() []int
}

// Reranker scores texts for a query, in the order of the texts; higher is better. It must be safe
// for concurrent use.
type Reranker interface {
	Name() string
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// ModelError reports that an embedder or a reranker failed; the query is not at fault.
type ModelError struct {
	Model string // name of the model
	Err   error
}

func (e *ModelError) Error() string { return e.Model + ": " + e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// FusionWeigher is an Embedder that recommends the weight of its ranking in every fusion. The
// weight of any other is the default of the fusion.
type FusionWeigher interface {
	// FusionWeight returns a number above 0, or 0 if it is not known. With 1e-5, a fusion orders
	// the chunks that BM25 found as BM25 does, unless their scores are nearly equal, and appends
	// those that only the vectors found.
	FusionWeight() float64
}
