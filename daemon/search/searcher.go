package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
)

// Embedder turns texts into vectors. It must be safe for concurrent use, and
// return soon after its context ended.
type Embedder interface {
	// Name identifies the model, as in "openai/text-embedding-3-small": vectors
	// of different names are not comparable.
	Name() string
	// Embed returns one vector for each text, in order, all of the same number
	// of dimensions. Vectors need not be of unit length; one of length 0 is an
	// error. Beside a Refusal stand the vectors of the texts that it does not name.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Refusal is an Embedder's error for some texts alone, as those that are too long
// for it. A passage that is refused has no vector and is found by its words only;
// it is not tried again before its document changes or the Index is made anew.
type Refusal interface {
	error
	// Refused gives the places of the texts in the call, at least one.
	Refused() []int
}

// defaultFusionWeight is how much the ranking of an embedder counts in a fusion
// beside that of the words, which counts 1. docs/retrieval.md tells what it was
// measured with.
const defaultFusionWeight = 0.2

// MaxFusionWeight leaves little to the ranking by words.
const MaxFusionWeight = 100

// FusionWeigher is an Embedder that knows how much its ranking is worth. Any other
// counts defaultFusionWeight.
type FusionWeigher interface {
	// FusionWeight is above 0, or 0 when it is not known. At 1e-5 or less, fusion
	// leaves the order of what BM25 found as it is, up to maxCandidateK, and puts
	// behind it what only the vectors found.
	FusionWeight() float64
}

// Reranker scores texts for a query, in order: higher is better. It must be
// safe for concurrent use.
type Reranker interface {
	Name() string
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// What a mode may lack. Search wraps them with the mode.
var (
	ErrNoEmbedder = errors.New("no embedder is configured: use auto or bm25")
	ErrNoReranker = errors.New("no reranker is configured: use auto, bm25, semantic or hybrid")
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
	// FusionWeight, from above 0 to MaxFusionWeight, is how much the embedder's
	// ranking counts; 0 means what it says itself, see FusionWeigher.
	FusionWeight float64
	// Degrade runs a lower mode, named in Result.Mode, where the embedder or
	// the reranker fails: bm25 without the embedder, hybrid without the
	// reranker. Without it their errors are the caller's.
	Degrade bool
	// CircuitBreaker is shared by all Searchers with these models; nil means one alone.
	CircuitBreaker *CircuitBreaker
	// Refused is told the ids of chunks that the embedder has refused, and its
	// reason for the first of them. It may be called by several goroutines, and
	// must not wait. Nil hears nothing.
	Refused func(chunkIDs []string, reason error)
}

// Searcher answers queries in every mode over one Index, whose vectors are all
// its embedder's: no two Searchers with different embedders may share an Index.
// It is safe for concurrent use.
type Searcher struct {
	index *Index
	cfg   Config

	mu        sync.Mutex
	embedding *embedding // nil when nothing is being embedded
	dimension int        // of the embedder's vectors; 0 before the first
}

// NewSearcher searches ix.
func NewSearcher(ix *Index, cfg Config) *Searcher {
	cfg.CircuitBreaker = cmp.Or(cfg.CircuitBreaker, &CircuitBreaker{})
	return &Searcher{index: ix, cfg: cfg}
}

// Search ranks by the query's mode, and sees every change of the Index that
// returned before the call. Modes with vectors embed first what Prepare has not;
// a document that is changed while they do may be missed by their vectors. Models
// have 8 s for a search, and are not asked while CircuitBreaker remembers that they fail.
//
// Errors are ErrNoEmbedder or ErrNoReranker for a mode that is not configured,
// *ModelError for a model that failed (ErrSlow: that took too long), and the context's. Others tell a value
// of the query that is unknown or out of its limits.
func (s *Searcher) Search(ctx context.Context, q Query) (Result, error) {
	mode, err := s.resolve(q.Mode)
	if err != nil {
		return Result{}, err
	}
	if q, err = q.withDefaults(); err != nil {
		return Result{}, err
	}
	models, cancel := context.WithTimeoutCause(ctx, modelTime, ErrSlow)
	defer cancel()
	res, err := s.retrieve(models, mode, q)
	degraded := ""
	if err != nil && s.mayDegrade(err) {
		degraded = err.Error()
		res, err = s.retrieve(models, modeBM25, q)
	}
	if err == nil && res.Mode == modeHybridRerank {
		if err = s.rerank(models, q, &res); err != nil && s.mayDegrade(err) {
			degraded, res.Mode, err = err.Error(), modeHybrid, nil
		}
	}
	if err != nil {
		return Result{}, fmt.Errorf("search in mode %s: %w", mode, err)
	}
	res.Degraded = degraded
	if q.Sort == sortRelevanceThenRecency {
		sortHits(res.Hits, q.Sort)
	}
	res.Hits = res.Hits[:min(q.TopK, len(res.Hits))]
	if q.Sort == sortRecency {
		sortHits(res.Hits, q.Sort)
	} else {
		spreadTies(res.Hits)
	}
	return res, nil
}

// resolve gives the mode that is to run.
func (s *Searcher) resolve(mode Mode) (Mode, error) {
	switch mode {
	case "", modeAuto:
		if s.cfg.Embedder == nil {
			return modeBM25, nil
		}
		return modeHybrid, nil
	case modeBM25:
		return mode, nil
	case modeSemantic, modeHybrid, modeHybridRerank:
		if s.cfg.Embedder == nil {
			return "", fmt.Errorf("mode %s: %w", mode, ErrNoEmbedder)
		}
		if mode == modeHybridRerank && s.cfg.Reranker == nil {
			return "", fmt.Errorf("mode %s: %w", mode, ErrNoReranker)
		}
		return mode, nil
	}
	return "", fmt.Errorf("mode %q is unknown", mode)
}

// mayDegrade is for failures of models, which the end of a context is not.
func (s *Searcher) mayDegrade(err error) bool {
	_, failed := errors.AsType[*ModelError](err)
	return failed && s.cfg.Degrade
}

// retrieve ranks by the mode, but for the reranking.
func (s *Searcher) retrieve(ctx context.Context, mode Mode, q Query) (Result, error) {
	if mode == modeBM25 {
		return s.index.retrieve(mode, q, vectorLeg{}), nil
	}
	vector, err := s.queryVector(ctx, q.Text)
	if err != nil {
		return Result{}, err
	}
	return s.index.retrieve(mode, q, vectorLeg{vector, s.fusionWeight()}), nil
}

func (s *Searcher) fusionWeight() float64 {
	own := 0.
	if e, ok := s.cfg.Embedder.(FusionWeigher); ok {
		own = e.FusionWeight()
	}
	return cmp.Or(s.cfg.FusionWeight, own, defaultFusionWeight)
}

// queryVector embeds the chunks that need it and then the query.
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
		if circuit.answered() == answers { // or it works, on more than there is time for
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
