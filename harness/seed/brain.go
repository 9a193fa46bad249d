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

// Brain is one brain of a service. Before its documents are written it is created or found.
type Brain struct {
	store target.Store
	name  string
	id    string // the service's, once Create or Find has returned without an error

	mu   sync.Mutex
	loss Loss
}

// Loss counts the documents of a brain that were searched for by their own words, and those that no
// search found in time.
type Loss struct {
	Missing  int `json:"missing"`
	Searched int `json:"searched"`
}

// NewBrain returns the brain with a name, which may not exist yet.
func NewBrain(s target.Service, d result.Dialect, name string) *Brain {
	return &Brain{store: s.Store(d), name: name}
}

// Loss returns what of the brain was never found. It is zero for a service that keeps no notices.
func (b *Brain) Loss() Loss {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loss
}

// Lost notes what of the brain was never found, by this process or by an earlier one that filled it.
func (b *Brain) Lost(l Loss) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loss.Missing += l.Missing
	b.loss.Searched += l.Searched
	if notices, ok := b.store.(target.Notices); ok {
		notices.Unfound(l.Missing, l.Searched)
	}
}

// ID returns the service's id of the brain, once Create or Find has returned without an error.
func (b *Brain) ID() string { return b.id }

// Create creates the brain. The error is ErrExists if there is one already.
func (b *Brain) Create(ctx context.Context) (err error) {
	b.mu.Lock()
	b.loss = Loss{}
	b.mu.Unlock()
	b.id, err = b.store.Create(ctx, b.name)
	return err
}

// Find looks for a brain that must exist and contain documents, because an evaluation of another
// one would measure nothing. Otherwise the error is ErrMissing or ErrEmpty.
func (b *Brain) Find(ctx context.Context) (err error) {
	b.id, err = b.store.Find(ctx, b.name)
	return err
}

// Remove deletes the brain, even if ctx has ended. It is no error if there is none.
func (b *Brain) Remove(ctx context.Context) error { return b.store.Remove(ctx, b.id, b.name) }

// Search returns the first topK chunks found for query.
func (b *Brain) Search(ctx context.Context, query string, topK int) ([]result.Chunk, error) {
	return b.store.Search(ctx, b.id, query, topK)
}

// Write writes documents with at most writers requests at a time, the last one after the others. It
// does not wait until they can be searched.
func (b *Brain) Write(ctx context.Context, docs []dataset.Doc, writers int) error {
	return b.store.Write(ctx, b.id, docs, writers)
}
