package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// embedBatch is how many passages go to the embedder at once, and so how many
// are lost when it fails.
const embedBatch = 256

// passage is a chunk that waits for its vector. Of a document that is replaced
// meanwhile, doc is no longer the one in the index.
type passage struct {
	doc            *entry
	ordinal        uint32
	headings, text string
}

// flight is one run over the passages without a vector. All who need them wait
// for the same one.
type embedding struct {
	cancel  context.CancelFunc
	waiting int           // guarded by Searcher.mu
	done    chan struct{} // closed at the end
	err     error         // written before that
}

// Prepare embeds the chunks that have no vector yet, which a query would
// otherwise have to wait for. Concurrent calls and queries share the work, which
// goes on while any of them waits. What was embedded before an error is kept. An
// error need not be handled: the next query that needs vectors tries again and
// reports its own. Without an embedder there is nothing to do, and while CircuitBreaker
// remembers that it fails nothing is tried.
func (s *Searcher) Prepare(ctx context.Context) error {
	if s.cfg.Embedder == nil || s.index.embedded() {
		return nil
	}
	if err := s.cfg.CircuitBreaker.embedder.allow(s.cfg.Embedder.Name()); err != nil {
		return err
	}
	return s.prepare(ctx)
}

// prepare is Prepare by one who was allowed to ask the embedder.
func (s *Searcher) prepare(ctx context.Context) error {
	// A flight under way may not know what was written just before this call;
	// the one after it does.
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

// join waits for the flight under way, or for a new one.
func (s *Searcher) awaitEmbedding(ctx context.Context) error {
	s.mu.Lock()
	f := s.embedding
	if f == nil {
		// The flight outlives the query that began it while others wait.
		running, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &embedding{cancel: cancel, done: make(chan struct{})}
		s.embedding = f
		go s.runEmbedding(running, f)
	}
	f.waiting++
	s.mu.Unlock()
	defer s.stopWaiting(f)
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives up waiting. The last one sees the flight to its end, so that no
// embedder is in use when all calls have returned.
func (s *Searcher) stopWaiting(f *embedding) {
	s.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last {
		s.endEmbedding(f)
	}
	s.mu.Unlock()
	if last {
		<-f.done
	}
}

// land ends a flight for those who come later. Called with mu held.
func (s *Searcher) endEmbedding(f *embedding) {
	f.cancel()
	if s.embedding == f {
		s.embedding = nil
	}
}

func (s *Searcher) runEmbedding(ctx context.Context, f *embedding) {
	f.err = s.embedAll(ctx)
	s.mu.Lock()
	s.endEmbedding(f)
	s.mu.Unlock()
	close(f.done)
}

// embedAll embeds the passages that have no vector when it is called.
func (s *Searcher) embedAll(ctx context.Context) error {
	for batch := range slices.Chunk(s.index.unembedded(), embedBatch) {
		batch = s.index.current(batch)
		if len(batch) == 0 {
			continue
		}
		texts := make([]string, len(batch))
		for i, p := range batch {
			texts[i] = passageText(p.doc.Title, p.headings, p.text)
		}
		units, err := s.embed(ctx, texts)
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

// chunkIDs are those of the passages at the places.
func chunkIDs(passages []passage, places []int) []string {
	ids := make([]string, len(places))
	for i, at := range places {
		ids[i] = chunkID(passages[at].doc.Path, int(passages[at].ordinal))
	}
	return ids
}

// embed gives a vector of unit length for each text. Beside an error that wraps
// a Refusal, those that it names are nil.
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

// checkVectors scales what the embedder returned for n texts but those at the
// places in refused. All that it ever returns must have as many dimensions as its
// first vector.
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
			return nil, fmt.Errorf("a vector of %d numbers where others have %d", len(vector), s.dimension)
		}
		scaled, err := unit(vector)
		if err != nil {
			return nil, err
		}
		units[i], s.dimension = scaled, len(vector)
	}
	return units, nil
}

// missing counts the chunks that are yet to be embedded. Called with mu held.
func (ix *Index) missing() int { return ix.live - ix.vectors.count - len(ix.vectors.refused) }

// embedded reports whether every chunk has its vector or was refused one.
func (ix *Index) embedded() bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.missing() == 0
}

// unfinished says how much is left to embed.
func (ix *Index) unfinishedError() error {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return fmt.Errorf("%w: %d of %d passages have no vector yet", ErrSlow, ix.missing(), ix.live)
}

// unembedded gives the chunks that are yet to be embedded.
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

// current gives the passages whose documents are still those in the index.
func (ix *Index) current(passages []passage) []passage {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return slices.DeleteFunc(passages, func(p passage) bool { return ix.docs[p.doc.Path] != p.doc })
}

// setVectors keeps the vectors of the passages that are still current, and which
// of them have none.
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

// passageText is what the models read of a chunk: the title, the headings above
// it and its text. A heading that is also the title counts once.
func passageText(title, headings, text string) string {
	if first, rest, _ := strings.Cut(headings, headingSeparator); first == title {
		headings = rest
	}
	parts := slices.DeleteFunc([]string{title, headings, text}, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n")
}
