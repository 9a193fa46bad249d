package search

import (
	"errors"
	"fmt"
	"slices"
)

// Mode is a way to rank (spec 4.4).
type Mode string

// The modes.
const (
	ModeAuto     Mode = "auto"     // hybrid with an embedder, bm25 without
	ModeBM25     Mode = "bm25"     // by the words of the query
	ModeSemantic Mode = "semantic" // by the cosine of the embedder's vectors
	// ModeHybrid fuses the ranks of the two, see FusionWeigher.
	ModeHybrid Mode = "hybrid"
	// ModeHybridRerank reorders the best hits of ModeHybrid by a reranker.
	ModeHybridRerank Mode = "hybrid-rerank"
)

// method is how a mode ranks.
type method struct {
	mode Mode
	// words and vectors are the legs. The rankings of two legs are fused.
	words, vectors bool
	// reranks is whether a reranker reorders the best hits.
	reranks bool
	// lower is the mode that runs if a model of this one fails. If it needs the failed model too,
	// its own lower mode runs.
	lower Mode
}

// methods has every mode but ModeAuto. The lower mode of one that reranks has the same legs and
// does not rerank, because a failure of the reranker leaves the ranking of the legs as it is.
var methods = []method{
	{mode: ModeBM25, words: true},
	{mode: ModeSemantic, vectors: true, lower: ModeBM25},
	{mode: ModeHybrid, words: true, vectors: true, lower: ModeBM25},
	{mode: ModeHybridRerank, words: true, vectors: true, reranks: true, lower: ModeHybrid},
}

// autoModes are the modes that ModeAuto may run: the first one whose models are configured. The
// last one needs no model.
var autoModes = []Mode{ModeHybrid, ModeBM25}

// Errors of Search for a mode that needs a model which is not configured. Search wraps them with
// the mode.
var (
	ErrNoEmbedder = errors.New("no embedder is configured: use auto or bm25")
	ErrNoReranker = errors.New("no reranker is configured: use auto, bm25, semantic or hybrid")
)

// resolve returns the method of the mode to run.
func (s *Searcher) resolve(mode Mode) (method, error) {
	if mode == "" || mode == ModeAuto {
		available := func(mode Mode) bool { return s.missing(methodOf(mode)) == nil }
		mode = autoModes[slices.IndexFunc(autoModes, available)]
	}
	m := methodOf(mode)
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

// methodOf returns the method of a mode; the zero method if the mode is unknown or ModeAuto.
func methodOf(mode Mode) method {
	for _, m := range methods {
		if m.mode == mode {
			return m
		}
	}
	return method{}
}

// withoutVectors returns the method that replaces m if the embedder fails.
func (m method) withoutVectors() method {
	for m.vectors {
		m = methodOf(m.lower)
	}
	return m
}
