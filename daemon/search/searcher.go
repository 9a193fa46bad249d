package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"evalctl/internal/admission"
)

// Errors of Search for a mode that needs a model which is not configured. Search wraps them with
// the mode.
var (
	ErrNoEmbedder = errors.New("no embedder is configured: use auto or bm25")
	ErrNoReranker = errors.New("no reranker is configured: use auto, bm25, semantic or hybrid")
)

// Config configures a Searcher. Every field is optional.
type Config struct {
	Embedder Embedder // for the modes that compare vectors
	Reranker Reranker // for the modes that rerank
	// Fusion combines the two rankings of a hybrid; empty means FusionScore.
	Fusion Fusion
	// FusionWeight is the weight of the embedder's ranking, at most MaxFusionWeight. 0 means the
	// weight that the embedder recommends, see FusionWeigher, or else the default of Fusion.
	FusionWeight float64
	// Degrade runs a lower mode, reported in Result.Mode, if a model fails: without the reranker
	// the mode with the same legs, and without the embedder bm25. Without Degrade, Search returns
	// the error.
	Degrade bool
	// CircuitBreaker is shared by all Searchers with these models; nil means one for this Searcher.
	CircuitBreaker *CircuitBreaker
	// Refused is called with the ids of chunks that the embedder has refused, and its reason for
	// the first of them. It may be called concurrently and must not block. It may be nil.
	Refused func(chunkIDs []string, reason error)
}

// HybridFusion returns how a Searcher with this configuration fuses hybrids.
func (c *Config) HybridFusion() FusionRun {
	own := 0.
	if e, ok := c.Embedder.(FusionWeigher); ok {
		own = e.FusionWeight()
	}
	f := cmp.Or(c.Fusion, FusionScore)
	return FusionRun{f, cmp.Or(c.FusionWeight, own, defaultFusionWeights[f])}
}

// Searcher answers queries in every mode over one Index. All vectors of an Index come from one
// embedder, so Searchers with different embedders must not share an Index. It is safe for
// concurrent use.
type Searcher struct {
	index     *Index
	cfg       Config
	embedding embedding // if there is an Embedder
	reranking reranking // if there is a Reranker
}

// NewSearcher returns a Searcher over ix.
func NewSearcher(ix *Index, cfg Config) *Searcher {
	cfg.CircuitBreaker = cmp.Or(cfg.CircuitBreaker, &CircuitBreaker{})
	breaker := cfg.CircuitBreaker
	return &Searcher{
		index: ix, cfg: cfg,
		embedding: embedding{index: ix, model: cfg.Embedder, circuit: &breaker.embedder, refused: cfg.Refused},
		reranking: reranking{cfg.Reranker, &breaker.reranker},
	}
}

// Prepare embeds the chunks that have no vector yet, so that no query has to wait for them.
// Concurrent calls and queries share the work, which continues while any of them waits. Vectors
// that were computed before an error are kept. The error may be ignored: the next query that needs
// vectors tries again and reports its own. Without an embedder, and while the CircuitBreaker is
// open, Prepare computes nothing; in the second case it returns an error.
func (s *Searcher) Prepare(ctx context.Context) error {
	if s.cfg.Embedder == nil || s.index.embedded() {
		return nil
	}
	if err := s.cfg.CircuitBreaker.embedder.allow(s.cfg.Embedder.Name()); err != nil {
		return err
	}
	return s.embedding.prepare(ctx)
}

// Search ranks by the query's mode, and sees every change of the Index that returned before the
// call. Modes with vectors first embed the chunks that Prepare has not; the vectors may miss a
// document that is changed meanwhile. Models have 8 s for a search, and are not called while the
// CircuitBreaker is open.
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
		if err = s.reranking.rerank(models, q, &res); err != nil && s.mayDegrade(err) {
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
	res.Hits = LimitDocuments(res.Hits, q.TopK, q, func(h Hit) string { return h.Path })
	if q.Sort == SortRecency {
		sortHits(res.Hits, q.Sort)
	} else {
		SpreadTies(res.Hits)
	}
	return res, nil
}

// mayDegrade reports whether the error is a failure of a model that a lower mode can replace. The
// end of a context is not.
func (s *Searcher) mayDegrade(err error) bool {
	_, failed := errors.AsType[*ModelError](err)
	return failed && s.cfg.Degrade
}

// retrieve ranks by the method, without reranking. Models may be called until the context models
// ends. The work of ctx begins after the model, so that waiting occupies no slot.
func (s *Searcher) retrieve(ctx, models context.Context, m method, q Query) (Result, error) {
	var vector vectorLeg
	if m.vectors {
		unit, err := s.embedding.queryVector(models, q.Text)
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

// resolve returns the method of the mode to run.
func (s *Searcher) resolve(mode Mode) (method, error) {
	if mode == "" || mode == ModeAuto {
		available := func(mode Mode) bool { return s.missing(methods[mode]) == nil }
		mode = autoModes[slices.IndexFunc(autoModes, available)]
	}
	m := methods[mode]
	if m.mode == "" {
		return m, fmt.Errorf("mode %q is unknown", mode)
	}
	if err := s.missing(m); err != nil {
		return m, fmt.Errorf("mode %s: %w", mode, err)
	}
	return m, nil
}

// missing returns the error for a model that the method needs and that is not configured.
func (s *Searcher) missing(m method) error {
	switch {
	case m.vectors && s.cfg.Embedder == nil:
		return ErrNoEmbedder
	case m.reranks && s.cfg.Reranker == nil:
		return ErrNoReranker
	}
	return nil
}
