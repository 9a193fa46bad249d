package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"evalctl/internal/admission"
)

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

// Config configures a Searcher. Every field is optional.
type Config struct {
	Embedder Embedder // for the modes that compare vectors
	Reranker Reranker // for the modes that rerank
	// Fusion combines the two rankings of a hybrid; empty means FusionScore.
	Fusion Fusion
	// FusionWeight is the weight of the embedder's ranking, at most MaxFusionWeight; 0 means the
	// weight that the embedder recommends, see FusionWeigher, or else the default of Fusion.
	FusionWeight float64
	// Degrade runs a lower mode, reported in Result.Mode, if a model fails: the mode with the same
	// legs without the reranker, and bm25 without the embedder. Without Degrade, Search returns the
	// error.
	Degrade bool
	// CircuitBreaker is shared by all Searchers with these models; nil means one for this Searcher.
	CircuitBreaker *CircuitBreaker
	// Refused is called with the ids of chunks that the embedder has refused, and its reason for
	// the first of them. It may be called concurrently and must not block. Nil ignores refusals.
	Refused func(chunkIDs []string, reason error)
}

// Searcher answers queries in every mode over one Index. All vectors of an Index come from one
// embedder, so Searchers with different embedders must not share an Index. It is safe for
// concurrent use.
type Searcher struct {
	index *Index
	cfg   Config

	mu        sync.Mutex
	embedding *embedding // nil when nothing is being embedded
	dimension int        // of the embedder's vectors; 0 before the first
}

// NewSearcher returns a Searcher over ix.
func NewSearcher(ix *Index, cfg Config) *Searcher {
	cfg.CircuitBreaker = cmp.Or(cfg.CircuitBreaker, &CircuitBreaker{})
	return &Searcher{index: ix, cfg: cfg}
}

// Search ranks by the query's mode, and sees every change of the Index that returned before the
// call. Modes with vectors first embed the chunks that Prepare has not; a document that is changed
// meanwhile may be missed by its vectors. Models have 8 s for a search, and are not called while
// the CircuitBreaker is open.
//
// Search returns ErrNoEmbedder or ErrNoReranker for a mode that is not configured, *ModelError if a
// model failed (with ErrSlow if it took too long), and the error of the context. Any other error
// reports a value of the query that is unknown or out of range.
func (s *Searcher) Search(ctx context.Context, q Query) (Result, error) {
	m, err := s.resolve(q.Mode)
	if err != nil {
		return Result{}, err
	}
	if q, err = q.withDefaults(); err != nil {
		return Result{}, err
	}
	models, cancel := context.WithTimeoutCause(ctx, modelTime, ErrSlow)
	defer cancel()
	asked := m.mode
	res, err := s.retrieve(ctx, models, m, q)
	degraded := ""
	if err != nil && s.mayDegrade(err) {
		degraded, m = err.Error(), m.withoutVectors()
		res, err = s.retrieve(ctx, models, m, q)
	}
	if err == nil && m.reranks {
		if err = s.rerank(models, q, &res); err != nil && s.mayDegrade(err) {
			degraded, res.Mode, err = err.Error(), m.lower, nil
		}
	}
	if err != nil {
		return Result{}, fmt.Errorf("search in mode %s: %w", asked, err)
	}
	res.Degraded = degraded
	if q.Sort == SortRelevanceThenRecency {
		sortHits(res.Hits, q.Sort)
	}
	res.Hits = limitDocuments(res.Hits, q.TopK, q, func(h Hit) string { return h.Path })
	if q.Sort == SortRecency {
		sortHits(res.Hits, q.Sort)
	} else {
		spreadTies(res.Hits)
	}
	return res, nil
}

// mayDegrade reports whether the error is a failure of a model that a lower mode can replace. The
// end of a context is not.
func (s *Searcher) mayDegrade(err error) bool {
	_, failed := errors.AsType[*ModelError](err)
	return failed && s.cfg.Degrade
}

// retrieve ranks by the method, without reranking. It has models only until the context of that
// name ends. The work of ctx begins after the model, so that no slot is occupied by waiting.
func (s *Searcher) retrieve(ctx, models context.Context, m method, q Query) (Result, error) {
	var vector vectorLeg
	if m.vectors {
		unit, err := s.queryVector(models, q.Text)
		if err != nil {
			return Result{}, err
		}
		vector = vectorLeg{unit, s.cfg.HybridFusion()}
	}
	release, err := admission.Enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer release()
	return s.index.retrieve(m, q, vector), nil
}

// queryVector embeds the chunks that have no vector, and then the query.
func (s *Searcher) queryVector(ctx context.Context, text string) ([]float32, error) {
	circuit, model := &s.cfg.CircuitBreaker.embedder, s.cfg.Embedder.Name()
	if err := circuit.allow(model); err != nil {
		return nil, err
	}
	answers := circuit.answered()
	if err := s.prepare(ctx); err != nil {
		if !timedOut(ctx) {
			return nil, err
		}
		err = &ModelError{model, s.index.unfinishedError()}
		if circuit.answered() == answers { // otherwise it works, but there is too much to embed
			circuit.recordOutcome(err)
		}
		return nil, err
	}
	units, err := s.embed(ctx, []string{text})
	circuit.recordOutcome(err)
	if err != nil {
		return nil, err
	}
	return units[0], nil
}
