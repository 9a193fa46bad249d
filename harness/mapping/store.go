package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
)

// brain is a brain with its written texts.
type brain struct {
	name string

	mu     sync.Mutex
	called any               // what the service calls it: a text, or a number in JSON
	paths  map[string]string // of documents, by the ids that were sent or that the service has given
	dates  map[string]string // of documents, by path
	kept   map[string]text   // what get and delete find, by id
	unsure []string          // paths of texts that may be stored under unknown ids
	fresh  bool              // something was written that finish and ready have not seen

	writing  chan struct{} // bounds concurrent writes: servers may read a file and write it back
	settling sync.Mutex
}

func (b *brain) id() string { return textOf(b.sentID()) }

// sentID returns the id as it is sent, see foundItem.sentID.
func (b *brain) sentID() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.called == nil || b.called == "" {
		return b.name
	}
	return b.called
}

func (b *brain) setID(id any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.called = id
}

// partMark matches the end of the id of a document's part or a session's turn.
var partMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`#\d+$`)
})

// pathOf returns the path of the document with an id. If the id is unknown, the path is the id
// without the mark of a part.
func (b *brain) pathOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if path, ok := b.paths[id]; ok || id == "" {
		return path
	}
	return impliedPath(id)
}

// impliedPath returns the path that an id is made of, see partID.
func impliedPath(id string) string { return partMark().ReplaceAllString(id, "") }

// brain returns the brain with a name. Unless it was found, its name at the service is in the
// namespace.
func (s *Service) brain(name string) *brain {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.brains[name]
	if b == nil {
		b = &brain{
			name: name, called: s.Namespace() + name, writing: make(chan struct{}, s.mapping.writes),
			paths: map[string]string{}, dates: map[string]string{}, kept: map[string]text{},
		}
		s.brains[name] = b
	}
	return b
}

// Store implements target.Service.
func (s *Service) Store(result.Dialect) target.Store { return &store{s} }

// store implements target.Store.
type store struct{ *Service }

var (
	_ target.Listener  = (*Service)(nil)
	_ target.Reader    = (*Service)(nil)
	_ target.NoteTaker = (*store)(nil)
)

// Create implements target.Store. A service with one store can have only one brain.
func (s *store) Create(ctx context.Context, name string) (string, error) {
	b := s.brain(name)
	if s.mapping.Brains == PerProcess {
		if _, err := os.Stat(s.home(name)); err == nil {
			return "", fmt.Errorf("brain %q in %s: %w", name, s.home(name), target.ErrExists)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	b.begin(s.Namespace() + name)
	switch s.mapping.Brains {
	case PerProcess:
		_, release, err := s.pool.acquire(ctx, name)
		if err != nil {
			return "", fmt.Errorf("create brain %q: %w", name, err)
		}
		release()
	case ByArgument:
		if err := s.createByCall(ctx, b); err != nil {
			return "", fmt.Errorf("create brain %q: %w", name, err)
		}
	case ByReset:
		if _, err := s.once(ctx, b, s.mapping.reset, map[string]any{"brain": b.sentID()}); err != nil {
			return "", fmt.Errorf("empty the store for brain %q: %w", name, err)
		}
	}
	return name, nil
}

// begin forgets what is known of a brain that had the name before, such as one that is lost.
func (b *brain) begin(id string) {
	b.setID(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.paths)
	clear(b.dates)
	clear(b.kept)
	b.unsure = nil
}

// createByCall creates a brain at a service that keeps several, if the mapping has a call for this.
func (s *store) createByCall(ctx context.Context, b *brain) error {
	o := s.mapping.create
	if o == nil {
		return nil // it is created by its first text
	}
	items, err := s.once(ctx, b, o, map[string]any{"brain": b.sentID()})
	if err == nil && len(items) > 0 && items[0].id != "" {
		b.setID(items[0].sentID())
	}
	if err != nil || s.mapping.reset == nil {
		return err
	}
	if err = s.checkNew(ctx, b); err != nil {
		b.setID(s.Namespace() + b.name) // so that Remove does not empty what was there before
	}
	return err
}

// checkNew returns an error unless a search finds no text in a brain that a call has created: if
// the brain existed before, the reset that removes it would delete the texts of others. A
// service may refuse to search an empty brain.
func (s *store) checkNew(ctx context.Context, b *brain) error {
	if s.Lacks(target.Search) != "" {
		return nil
	}
	found, err := seed.Search(ctx, s, b.name, target.OwnQuery, 1)
	switch {
	case len(found) > 0:
		return fmt.Errorf("the call create of the mapping gave %q, which contains texts: %w", b.id(), target.ErrExists)
	case err != nil && !seed.Refused(err):
		return fmt.Errorf("search for texts in %q, which the call create of the mapping gave: %w", b.id(), err)
	}
	return nil
}

// Find implements target.Store. The service knows the brain by this name, because the namespace is
// only for brains that this process creates. Whether a brain exists and what it contains is known
// only with a process per brain.
func (s *store) Find(_ context.Context, name string) (string, error) {
	if s.mapping.Brains == PerProcess {
		if _, err := os.Stat(s.home(name)); err != nil {
			return "", fmt.Errorf("brain %q in %s: %w", name, s.home(name), target.ErrMissing)
		}
	}
	s.brain(name).setID(name)
	return name, nil
}

// removeWithin limits the time to empty a store, and the time without success while texts are
// deleted one by one.
const removeWithin = 30 * time.Second

// Remove implements target.Store. If the service has no call to empty a store, Remove deletes
// the written texts, if the service can delete. An error is also a finding about the service. It
// is target.ErrNoAnswer if nothing could be removed within the time limit.
func (s *store) Remove(ctx context.Context, id, name string) error {
	b := s.brain(cmp.Or(id, name))
	err := s.removeBrain(context.WithoutCancel(ctx), b)
	if err == nil {
		return nil
	}
	s.seen.notRemoved(fmt.Sprintf("what was written to brain %q could not be removed: %v", b.id(), err))
	if b.id() != b.name {
		err = fmt.Errorf("the service calls it %q: %w", b.id(), err)
	}
	return err
}

func (s *store) removeBrain(ctx context.Context, b *brain) error {
	switch {
	case s.mapping.Brains == PerProcess:
		if err := s.pool.drop(b.name); err != nil {
			return err
		}
		return os.RemoveAll(s.home(b.name))
	case s.mapping.reset != nil:
		ctx, cancel := target.TimeLimit(ctx, removeWithin)
		defer cancel()
		_, err := s.once(ctx, b, s.mapping.reset, map[string]any{"brain": b.sentID()})
		if f, ok := target.AsFailure(err); ok && f.Retryable() {
			err = stalledError{err} // the service refused all tries as busy
		}
		return err
	case s.mapping.remove == nil:
		return nil
	}
	return s.removeTexts(ctx, b)
}

// stalledError is a target.ErrNoAnswer: the service may answer, but nothing was removed within
// the time limit.
type stalledError struct{ error }

// Is makes the error a target.ErrNoAnswer.
func (stalledError) Is(err error) bool { return err == target.ErrNoAnswer }

// Unwrap returns the reason.
func (e stalledError) Unwrap() error { return e.error }

// removeTexts deletes the texts of a brain. A text that the service no longer has counts as
// deleted. After another failure, removeTexts goes on with the next text, until nothing was
// deleted within removeWithin.
func (s *store) removeTexts(ctx context.Context, b *brain) error {
	d := deletion{ids: b.idsOf(""), since: time.Now()}
	var g errgroup.Group
	g.SetLimit(s.mapping.writes)
	for i, id := range d.ids {
		g.Go(func() error {
			if !d.ended() {
				d.note(i, s.removeText(ctx, b, id))
			}
			return nil
		})
	}
	_ = g.Wait() // d has the errors
	err, doubts := d.err(), b.doubts()
	if err != nil && doubts != nil {
		return fmt.Errorf("%w; %w", err, doubts)
	}
	return cmp.Or(err, doubts)
}

// deletion is the progress of deleting texts with concurrent calls.
type deletion struct {
	ids []string

	mu      sync.Mutex
	since   time.Time // of the last success, or the beginning
	inVain  int       // failures since then
	stalled bool      // texts were not tried
	deleted int
	failed  error // for the first of the ids that could not be deleted
	at      int   // its index
}

func (d *deletion) note(i int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		d.deleted, d.since, d.inVain = d.deleted+1, time.Now(), 0
		return
	case d.failed == nil || i < d.at:
		d.failed, d.at = err, i
	}
	d.inVain++
}

// ended reports whether nothing was deleted within removeWithin, and more than one text was tried.
// The others are not.
func (d *deletion) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stalled = d.stalled || d.inVain > 1 && time.Since(d.since) >= removeWithin
	return d.stalled
}

// err returns the error of a deletion that has ended. It is target.ErrNoAnswer if it was
// stalled, and not if only one text was not answered.
func (d *deletion) err() error {
	if d.failed == nil {
		return nil
	}
	err := fmt.Errorf("%d of %d texts could not be deleted, such as %q: %s",
		len(d.ids)-d.deleted, len(d.ids), d.ids[d.at], d.failed.Error())
	if d.stalled || d.deleted == 0 && time.Since(d.since) >= removeWithin {
		return stalledError{err}
	}
	return err
}

func (s *store) removeText(ctx context.Context, b *brain, id string) error {
	ctx, cancel := target.TimeLimit(ctx, removeWithin)
	defer cancel()
	err := s.forget(ctx, b, id)
	// Over MCP, these statuses are about the session or the URL.
	if f, ok := target.AsFailure(err); ok && s.mapping.Transport == HTTP && (f.Status == http.StatusNotFound || f.Status == http.StatusGone) {
		b.forgot(id)
		return nil
	}
	return err
}

// Apply implements target.Store.
func (s *store) Apply(ctx context.Context, id string, o dataset.Operation) error {
	if err := target.Needs(s, target.OperationNeeds(o.Op)...); err != nil {
		return err
	}
	b := s.brain(id)
	if o.Op == dataset.OpPut || o.Op == dataset.OpRemember {
		return s.replace(ctx, b, dataset.Doc{Path: pathOf(o), Data: o.Document()})
	}
	return s.delete(ctx, b, o.Path)
}

// pathOf returns the path of the document that an operation writes. A text remembered without a
// path is named after its content.
func pathOf(o dataset.Operation) string {
	if o.Path != "" {
		return o.Path
	}
	return fmt.Sprintf("remembered-%x.md", result.IDsSHA256(func(yield func(string) bool) { yield(o.Text) })[:12])
}

// idsOf returns the sorted ids by which get and delete find the texts of a document, or of all
// documents if path is empty.
func (b *brain) idsOf(path string) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, t := range b.kept {
		if path == "" || slices.Contains(t.documents(), path) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Get implements target.Reader.
func (s *Service) Get(ctx context.Context, id, path string) (texts []string, err error) {
	if err := target.Needs(s, target.Get); err != nil {
		return nil, err
	}
	b, o := s.brain(id), s.mapping.get
	for _, one := range b.idsOf(path) {
		items, err := s.once(ctx, b, o, b.values(one))
		if err != nil {
			return texts, fmt.Errorf("read document %s: %w", path, err)
		}
		for _, f := range items {
			texts = append(texts, f.text)
		}
	}
	return texts, nil
}

// Search implements target.Store.
func (s *store) Search(ctx context.Context, id, query string, topK int) ([]result.Chunk, error) {
	b := s.brain(id)
	_, release, err := s.running(ctx, b)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := s.settle(ctx, b); err != nil {
		return nil, err
	}
	ctx, cancel := target.TimeLimit(ctx, s.mapping.search.within)
	defer cancel()
	a, err := s.Answer(ctx, &target.Target{
		Service: s, Brains: map[string]string{"": id}, Scenario: result.SearchOnly, TopK: topK,
	}, dataset.Question{Question: query})
	return a.Retrieved, err
}
