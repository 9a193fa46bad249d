package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// brain is a brain and what was written to it.
type brain struct {
	name string

	mu      sync.Mutex
	called  string            // what the service calls it, "" for name
	paths   map[string]string // of documents, by the ids that were sent or that the service has given
	writing sync.Mutex        // one write at a time: servers may read a file and write it back
}

func (b *brain) id() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.called, b.name)
}

func (b *brain) keep(id, path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paths == nil {
		b.paths = map[string]string{}
	}
	b.paths[id] = path
}

// partMark is how an id ends of a part of a document or of a turn of a session.
var partMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`#\d+$`)
})

// pathOf returns the path of the document with an id. If an earlier process has written it, the id
// is the path, or that of a part of it. An id of the service that is not known has no path.
func (b *brain) pathOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if path, ok := b.paths[id]; ok || id == "" {
		return path
	}
	return partMark().ReplaceAllString(id, "")
}

// brain returns the brain with a name.
func (s *Service) brain(name string) *brain {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.brains[name]
	if b == nil {
		b = &brain{name: name}
		s.brains[name] = b
	}
	return b
}

// Store implements target.Service.
func (s *Service) Store(result.Dialect) target.Store { return &store{s} }

// store implements target.Store.
type store struct{ *Service }

var (
	_ target.Listener = (*Service)(nil)
	_ target.Reader   = (*Service)(nil)
)

// Create implements target.Store. Of a service with one store, only one brain can be created.
func (s *store) Create(ctx context.Context, name string) (string, error) {
	b := s.brain(name)
	switch s.mapping.Brains {
	case PerProcess:
		if _, err := os.Stat(s.home(name)); err == nil {
			return "", fmt.Errorf("brain %q in %s: %w", name, s.home(name), target.ErrExists)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
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
		if _, err := s.once(ctx, b, s.mapping.reset, map[string]any{"brain": name}); err != nil {
			return "", fmt.Errorf("empty the store for brain %q: %w", name, err)
		}
	}
	return name, nil
}

// createByCall creates a brain at a service that keeps several, if it has a call for that.
func (s *store) createByCall(ctx context.Context, b *brain) error {
	o := s.mapping.create
	if o == nil {
		return nil // it is created by its first text
	}
	items, err := s.once(ctx, b, o, map[string]any{"brain": b.name})
	if err == nil && len(items) > 0 && items[0].id != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.called = items[0].id
	}
	return err
}

// once makes a call that changes something, within target.CallTimeout, and reads its reply. It is not
// repeated, because it is not known whether that does harm.
func (s *Service) once(ctx context.Context, b *brain, o *operation, values map[string]any) ([]found, error) {
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	a, err := s.call(ctx, b, o, values)
	if err != nil || o.reply.text == nil && o.reply.id == nil && !o.reply.plain {
		return nil, err
	}
	items, _, err := s.read(ctx, o, a)
	return items, err
}

// Find implements target.Store. Whether a service has a brain and what is in it is known only if each
// brain has a process.
func (s *store) Find(_ context.Context, name string) (string, error) {
	if s.mapping.Brains == PerProcess {
		if _, err := os.Stat(s.home(name)); err != nil {
			return "", fmt.Errorf("brain %q in %s: %w", name, s.home(name), target.ErrMissing)
		}
	}
	s.brain(name)
	return name, nil
}

// removeWithin is how long it may take to empty a store.
const removeWithin = 30 * time.Second

// Remove implements target.Store. From a service with one store and without a call that empties it,
// the texts are deleted that were written, if it can delete.
func (s *store) Remove(ctx context.Context, id, name string) error {
	ctx, cancel := target.TimeLimit(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	b := s.brain(cmp.Or(id, name))
	switch {
	case s.mapping.Brains == PerProcess:
		if err := s.pool.drop(b.name); err != nil {
			return err
		}
		return os.RemoveAll(s.home(b.name))
	case s.mapping.reset != nil:
		_, err := s.once(ctx, b, s.mapping.reset, map[string]any{"brain": b.id()})
		return err
	case s.mapping.remove == nil:
		return nil
	}
	b.mu.Lock()
	ids := make([]string, 0, len(b.paths))
	for one := range b.paths {
		ids = append(ids, one)
	}
	b.mu.Unlock()
	slices.Sort(ids)
	for _, one := range ids {
		if _, err := s.once(ctx, b, s.mapping.remove, map[string]any{"brain": b.id(), "id": one, "name": nameOf(one)}); err != nil {
			return err
		}
	}
	return nil
}

// Write implements target.Store. Documents are written one after the other.
func (s *store) Write(ctx context.Context, id string, docs []dataset.Doc, _ int) error {
	if s.mapping.remember == nil {
		return target.Needs(s, target.Put)
	}
	b := s.brain(id)
	b.writing.Lock()
	defer b.writing.Unlock()
	for _, doc := range docs {
		if err := s.put(ctx, b, doc); err != nil {
			return fmt.Errorf("write document %s: %w", doc.Path, err)
		}
	}
	return nil
}

func (s *store) put(ctx context.Context, b *brain, doc dataset.Doc) error {
	head := headOf(string(doc.Data))
	o := s.mapping.remember
	parts := cutText(head.body, o.limit)
	for i, part := range parts {
		values := head.values(b.id(), partID(doc.Path, i))
		values["text"], values["document"] = part, string(doc.Data)
		if err := s.remember(ctx, b, o, values, doc.Path); err != nil {
			return err
		}
	}
	return nil
}

// partID returns the id of a part of a document or of a turn of a session, counted from 0.
func partID(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "#" + strconv.Itoa(i+1)
}

// remember makes one call that writes, and keeps to which document its ids belong.
func (s *Service) remember(ctx context.Context, b *brain, o *operation, values map[string]any, path string) error {
	id, _ := values["id"].(string)
	values["name"] = nameOf(id)
	items, err := s.once(ctx, b, o, values)
	if err != nil {
		return err
	}
	if o.arguments.uses("id") || o.path.uses("id") {
		b.keep(id, path)
	}
	if o.arguments.uses("name") || o.path.uses("name") {
		b.keep(nameOf(id), path)
	}
	if session, ok := values["session"].(string); ok && o.arguments.uses("session") {
		b.keep(session, path)
	}
	for _, f := range items {
		if f.id != "" {
			b.keep(f.id, path)
		}
	}
	return nil
}

// Tell implements target.Listener.
func (s *Service) Tell(ctx context.Context, id string, c target.Conversation) error {
	if s.mapping.remember == nil && s.mapping.turns == nil {
		return target.Needs(s, target.Put)
	}
	b := s.brain(id)
	b.writing.Lock()
	defer b.writing.Unlock()
	o := s.mapping.turns
	if o == nil {
		o = s.mapping.remember
	}
	n := 0
	for _, g := range grouped(c, s.mapping.per, o) {
		values := map[string]any{
			"brain": b.id(), "id": partID(c.Path, n), "text": strings.Join(g.texts, "\n"), "texts": g.texts,
			"session": c.ID, "document": strings.Join(g.texts, "\n"),
		}
		for name, value := range map[string]string{
			"title": c.Title, "date": cmp.Or(g.date, c.Date), "speaker": g.speaker, "role": g.role,
		} {
			if value != "" {
				values[name] = value
			}
		}
		if err := s.remember(ctx, b, o, values, c.Path); err != nil {
			return fmt.Errorf("session %q, call %d: %w", c.ID, n+1, err)
		}
		n++
	}
	return nil
}

// Apply implements target.Store.
func (s *store) Apply(ctx context.Context, id string, o dataset.Operation) error {
	if err := target.Needs(s, target.OperationNeeds(o.Op)...); err != nil {
		return err
	}
	b := s.brain(id)
	b.writing.Lock()
	defer b.writing.Unlock()
	switch o.Op {
	case dataset.OpPut, dataset.OpRemember:
		return s.put(ctx, b, dataset.Doc{Path: pathOf(o), Data: o.Document()})
	}
	for _, one := range b.idsOf(o.Path) {
		if _, err := s.once(ctx, b, s.mapping.remove, map[string]any{"brain": b.id(), "id": one, "name": nameOf(one)}); err != nil {
			return fmt.Errorf("delete document %s: %w", o.Path, err)
		}
		b.mu.Lock()
		delete(b.paths, one)
		b.mu.Unlock()
	}
	return nil
}

// pathOf returns the path of the document that an operation writes. One that is remembered without a
// path is named after its text.
func pathOf(o dataset.Operation) string {
	if o.Path != "" {
		return o.Path
	}
	return fmt.Sprintf("remembered-%x.md", result.IDsSHA256(func(yield func(string) bool) { yield(o.Text) })[:12])
}

// idsOf returns the ids of what was written of a document, sorted.
func (b *brain) idsOf(path string) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, of := range b.paths {
		if of == path {
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
		items, err := s.once(ctx, b, o, map[string]any{"brain": b.id(), "id": one, "name": nameOf(one)})
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
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	a, err := s.Answer(ctx, &target.Target{
		Service: s, Brains: map[string]string{"": id}, Scenario: result.SearchOnly, TopK: topK,
	}, dataset.Question{Question: query})
	return a.Retrieved, err
}
