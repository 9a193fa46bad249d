package search

import (
	"cmp"
	"context"
	"errors"
	"evalctl/daemon/search/document"
	"fmt"
	"slices"
	"time"
)

// The number of passages in one call of the embedder, and so the number that is lost if the call
// fails: firstBatch, then twice as many after each call of less than slowBatch, and half as many
// after the others. So clients see a slow embedder make progress.
const (
	minBatch, firstBatch, embedBatch = 8, 32, 256
	slowBatch                        = 5 * time.Second
)

// passage is a chunk that is waiting for its vector. If its document is replaced meanwhile, doc is
// no longer the document in the index.
type passage struct {
	doc            *entry
	ordinal        uint32
	headings, text string
}

// embedding is one run over the passages without a vector. All callers that need them wait for the
// same run.
type embedding struct {
	cancel  context.CancelFunc
	waiting int           // guarded by Searcher.mu
	done    chan struct{} // closed at the end
	err     error         // written before that
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
	return s.prepare(ctx)
}

// prepare is Prepare for a caller that the CircuitBreaker has allowed to call the embedder.
func (s *Searcher) prepare(ctx context.Context) error {
	// A run that has already begun may not include what was written just before this call; the next
	// run does.
	for range 2 {
		if s.index.embedded() {
			return nil
		}
		if err := s.awaitEmbedding(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitEmbedding waits for the current run, or for a new one if there is none.
func (s *Searcher) awaitEmbedding(ctx context.Context) error {
	s.mu.Lock()
	run := s.embedding
	if run == nil {
		// The run outlives the query that began it while other callers wait for it.
		running, cancel := context.WithCancel(context.WithoutCancel(ctx))
		run = &embedding{cancel: cancel, done: make(chan struct{})}
		s.embedding = run
		go s.runEmbedding(running, run)
	}
	run.waiting++
	s.mu.Unlock()
	defer s.stopWaiting(run)
	select {
	case <-run.done:
		return run.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopWaiting is called when a caller no longer waits. The last caller waits until the run has
// stopped, so that the embedder is not in use after all calls have returned.
func (s *Searcher) stopWaiting(run *embedding) {
	s.mu.Lock()
	run.waiting--
	last := run.waiting == 0
	if last {
		s.endEmbedding(run)
	}
	s.mu.Unlock()
	if last {
		<-run.done
	}
}

// endEmbedding cancels a run and lets the next caller begin another. Called with mu held.
func (s *Searcher) endEmbedding(run *embedding) {
	run.cancel()
	if s.embedding == run {
		s.embedding = nil
	}
}

func (s *Searcher) runEmbedding(ctx context.Context, run *embedding) {
	run.err = s.embedAll(ctx)
	s.mu.Lock()
	s.endEmbedding(run)
	s.mu.Unlock()
	close(run.done)
}

// embedAll embeds the passages that have no vector when it is called.
func (s *Searcher) embedAll(ctx context.Context) error {
	rest, size := s.index.unembedded(), firstBatch
	for len(rest) > 0 {
		batch := s.index.current(rest[:min(size, len(rest))])
		rest = rest[min(size, len(rest)):]
		if len(batch) == 0 {
			continue
		}
		begin := time.Now()
		texts := make([]string, len(batch))
		for i, p := range batch {
			texts[i] = document.Passage(p.doc.Title, p.headings, p.text)
		}
		units, err := s.embed(ctx, texts)
		if time.Since(begin) < slowBatch {
			size = min(2*size, embedBatch)
		} else {
			size = max(size/2, minBatch)
		}
		s.cfg.CircuitBreaker.embedder.recordOutcome(err)
		refusal, partly := errors.AsType[Refusal](err)
		if err != nil && !partly {
			return err
		}
		s.index.setVectors(batch, units)
		if partly && s.cfg.Refused != nil {
			s.cfg.Refused(chunkIDs(batch, refusal.Refused()), err)
		}
	}
	return nil
}

// chunkIDs returns the ids of the passages at the places.
func chunkIDs(passages []passage, places []int) []string {
	ids := make([]string, len(places))
	for i, at := range places {
		ids[i] = document.ChunkID(passages[at].doc.Path, int(passages[at].ordinal))
	}
	return ids
}

// embed returns a vector of unit length for each text. With an error that wraps a Refusal, the
// vectors of the refused texts are nil.
func (s *Searcher) embed(ctx context.Context, texts []string) ([][]float32, error) {
	found, err := s.cfg.Embedder.Embed(ctx, texts)
	if ctx.Err() != nil {
		return nil, contextError(ctx, s.cfg.Embedder.Name())
	}
	var refused []int
	if refusal, ok := errors.AsType[Refusal](err); ok {
		refused = refusal.Refused()
	}
	var units [][]float32
	if err == nil || refused != nil {
		var wrong error
		units, wrong = s.checkVectors(found, len(texts), refused)
		err = cmp.Or(wrong, err)
	}
	if err != nil {
		return units, &ModelError{s.cfg.Embedder.Name(), err}
	}
	return units, nil
}

// checkVectors scales the vectors that the embedder returned for n texts to unit length, without
// those at the refused places. All vectors of an embedder must have as many dimensions as its
// first.
func (s *Searcher) checkVectors(found [][]float32, n int, refused []int) ([][]float32, error) {
	if len(found) != n {
		return nil, fmt.Errorf("%d vectors for %d texts", len(found), n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	units := make([][]float32, n)
	for i, vector := range found {
		if slices.Contains(refused, i) {
			continue
		}
		if s.dimension != 0 && len(vector) != s.dimension {
			return nil, fmt.Errorf("a vector of %d numbers, others have %d", len(vector), s.dimension)
		}
		scaled, err := unit(vector)
		if err != nil {
			return nil, err
		}
		units[i], s.dimension = scaled, len(vector)
	}
	return units, nil
}

// missing returns the number of chunks that are still to be embedded. Called with mu held.
func (ix *Index) missing() int { return ix.live - ix.vectors.count - len(ix.vectors.refused) }

// embedded reports whether every chunk has a vector or was refused one.
func (ix *Index) embedded() bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.missing() == 0
}

// Embedded returns how many chunks of the document at path have a vector.
func (ix *Index) Embedded(path string) int {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	n := 0
	if doc := ix.docs[path]; doc != nil {
		for i := range doc.count {
			if ix.vectors.known[doc.first+i] {
				n++
			}
		}
	}
	return n
}

// UnfinishedError is an ErrSlow of passages that are still to be embedded: Missing of all.
type UnfinishedError struct{ Missing, All int }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%v: %d of %d passages have no vector yet", ErrSlow, e.Missing, e.All)
}

// Unwrap returns ErrSlow.
func (e *UnfinishedError) Unwrap() error { return ErrSlow }

// unfinishedError reports how many passages are still to be embedded.
func (ix *Index) unfinishedError() error {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return &UnfinishedError{ix.missing(), ix.live}
}

// unembedded returns the chunks that are still to be embedded.
func (ix *Index) unembedded() []passage {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	missing := make([]passage, 0, ix.missing())
	for n, known := range ix.vectors.known {
		if ch := &ix.chunks[n]; !known && ch.doc != nil && !ix.vectors.refused[uint32(n)] {
			missing = append(missing, passage{ch.doc, ch.ordinal, ch.headings, ch.text})
		}
	}
	return missing
}

// current returns the passages whose documents are still in the index.
func (ix *Index) current(passages []passage) []passage {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return slices.DeleteFunc(passages, func(p passage) bool { return ix.docs[p.doc.Path] != p.doc })
}

// setVectors stores the vectors of the passages that are still current, and marks those without a
// vector as refused.
func (ix *Index) setVectors(passages []passage, units [][]float32) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for i, p := range passages {
		if n := p.doc.first + p.ordinal; ix.docs[p.doc.Path] != p.doc {
			continue
		} else if units[i] == nil {
			ix.vectors.refuse(n)
		} else {
			ix.vectors.set(n, units[i])
		}
	}
}
