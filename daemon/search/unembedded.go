package search

import (
	"fmt"
	"slices"
)

// passage is a chunk that is waiting for its vector. If its document is replaced meanwhile, doc is
// no longer the document in the index.
type passage struct {
	doc            *entry
	ordinal        uint32
	headings, text string
}

// missing returns the number of chunks that are still to be embedded. Called with mu held.
func (ix *Index) missing() int { return ix.live - ix.vectors.Settled() }

// embedded reports whether every chunk has a vector or was refused one.
func (ix *Index) embedded() bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.missing() == 0
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
	for n := range ix.chunks {
		if ch := &ix.chunks[n]; ch.doc != nil && ix.vectors.Waits(uint32(n)) {
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
			ix.vectors.Refuse(n)
		} else {
			ix.vectors.Set(n, units[i])
		}
	}
}
