package seed

import (
	"context"
	"sync"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// Reasons why a brain cannot be evaluated.
var (
	ErrExists  = target.ErrExists
	ErrMissing = target.ErrMissing
	ErrEmpty   = target.ErrEmpty
)

// Brain is one brain of a service. Call Create or Find before any other method.
type Brain struct {
	store target.Store
	name  string
	id    string // the service's, once Create or Find has returned without an error

	mu   sync.Mutex
	loss Loss
}

// Loss counts the documents of a brain that were searched for by their own words, and how many of
// them no search found in time.
type Loss struct {
	Missing  int `json:"missing"`
	Searched int `json:"searched"`
}

// NewBrain returns the brain with a name. It need not exist.
func NewBrain(s target.Service, d result.Dialect, name string) *Brain {
	return &Brain{store: s.Store(d), name: name}
}

// Loss returns how many documents of the brain were never found. It is zero unless the store is a
// target.Notices.
func (b *Brain) Loss() Loss {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loss
}

// Lost adds a loss, found by this process or by an earlier one that filled the brain.
func (b *Brain) Lost(l Loss) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loss.Missing += l.Missing
	b.loss.Searched += l.Searched
	if notices, ok := b.store.(target.Notices); ok {
		notices.Unfound(l.Missing, l.Searched)
	}
}

// ID returns the service's id of the brain, once Create or Find has succeeded.
func (b *Brain) ID() string { return b.id }

// Create creates the brain. It returns ErrExists if the brain exists.
func (b *Brain) Create(ctx context.Context) (err error) {
	b.mu.Lock()
	b.loss = Loss{}
	b.mu.Unlock()
	b.id, err = b.store.Create(ctx, b.name)
	return err
}

// Find finds a brain, which must exist and contain documents: an evaluation of an empty one would
// measure nothing. It returns ErrMissing or ErrEmpty otherwise.
func (b *Brain) Find(ctx context.Context) (err error) {
	b.id, err = b.store.Find(ctx, b.name)
	return err
}

// Notes returns what another process must know to use the brain, nil unless TakesNotes.
func (b *Brain) Notes() ([]byte, error) {
	if taker, ok := b.store.(target.NoteTaker); ok {
		return taker.Notes(b.id)
	}
	return nil, nil
}

// UseNotes adopts the notes of the process that filled the brain, nil if there are none, by the
// rules of target.NoteTaker. It must follow Find.
func (b *Brain) UseNotes(notes []byte) error {
	if taker, ok := b.store.(target.NoteTaker); ok {
		return taker.UseNotes(b.id, notes)
	}
	return nil
}

// TakesNotes reports whether another process needs the notes of this one.
func (b *Brain) TakesNotes() bool {
	_, ok := b.store.(target.NoteTaker)
	return ok
}

// Remove deletes the brain, even if ctx has ended. It returns nil if the brain does not exist.
func (b *Brain) Remove(ctx context.Context) error { return b.store.Remove(ctx, b.id, b.name) }

// Search returns the first topK chunks found for query.
func (b *Brain) Search(ctx context.Context, query string, topK int) ([]result.Chunk, error) {
	return b.store.Search(ctx, b.id, query, topK)
}

// Write writes documents with at most writers concurrent requests, the last document after all
// others. It does not wait until they are searchable.
func (b *Brain) Write(ctx context.Context, docs []dataset.Doc, writers int) error {
	return b.store.Write(ctx, b.id, docs, writers)
}
