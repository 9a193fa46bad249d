package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/census"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
)

// removeWithin limits the time to remove a brain.
const removeWithin = 5 * time.Second

// Store implements Service.
func (e *Endpoint) Store(d result.Dialect) Store { return &protocolStore{e, d} }

// protocolStore is the Store of a daemon that speaks the protocol.
type protocolStore struct {
	endpoint *Endpoint
	dialect  result.Dialect
}

// created has the ids of the brains that this process created. A daemon may have been restarted
// at another address since.
var created sync.Map

// Create implements Store. The request may end some time after ctx, so that the id of a created
// brain is known. The brain is the caller's to write to and to remove, so it must be new.
func (s *protocolStore) Create(ctx context.Context, name string) (string, error) {
	body := map[string]any{"name": name, "brain_id": name}
	r := Request{
		Method: http.MethodPost, Path: "/v1/brains", ContentType: protocol.TypeJSON,
		Body: Encode(s.dialect, body, map[string][]string{"brain_id": {"id", "slug"}}),
	}
	before, err := census.Take(ctx, s.endpoint.list)
	if err != nil {
		return "", fmt.Errorf("create brain %q at %s: %w", name, s.endpoint.URL(), err)
	}
	// A request cut off early could leave a brain whose id is unknown.
	ctx, cancel := withGrace(ctx, removeWithin)
	defer cancel()
	var o jsonobj.Object
	err = Retry(ctx, CallTimeout, func(ctx context.Context) (err error) {
		o, err = s.endpoint.Create(ctx, r)
		return err
	})
	if hasStatus(err, http.StatusConflict) {
		return "", s.unusable(name, ErrExists)
	}
	if err != nil {
		return "", fmt.Errorf("create brain %q: %w", name, err)
	}
	id := cmp.Or(o.Text("id", "brain_id", "brainId"), name)
	if err := s.own(ctx, before, id, name); err != nil {
		return "", err
	}
	created.Store(id, nil)
	return id, nil
}

// own returns an error unless the brain that the daemon returned for name is new. If the daemon
// has a brain of this name, it is ErrExists.
func (s *protocolStore) own(ctx context.Context, before *census.Census, id, name string) error {
	was, used := s.endpoint.names.LoadOrStore(id, name)
	if used && was == removed && s.endpoint.names.CompareAndSwap(id, removed, name) {
		used = false
		before.Forget(id)
	}
	err := before.New(ctx, id)
	switch {
	case used && was == name, errors.Is(err, census.ErrOld) && before.Calls(id, name):
		err = s.unusable(name, ErrExists)
	case used:
		err = s.notNew(name, id, fmt.Errorf("which it also returned for %q", was))
	case errors.Is(err, census.ErrOld), errors.Is(err, census.ErrShared):
		err = s.notNew(name, id, err)
	case err != nil:
		err = fmt.Errorf("create brain %q at %s: it is not known whether brain %q, which POST /v1/brains returned, is new: %w: "+
			"evalctl leaves it; delete it if nobody else uses it", name, s.endpoint.URL(), id, err)
	}
	if err != nil && !used {
		s.endpoint.names.Delete(id)
	}
	return err
}

// notNew returns the error for a brain that belongs to others.
func (s *protocolStore) notNew(name, id string, why error) error {
	return fmt.Errorf("create brain %q at %s: POST /v1/brains returned brain %q, %w: evalctl would write to it and delete it; "+
		"give a daemon that creates a brain for each request, or a brain that exists with --brain NAME --corpus none",
		name, s.endpoint.URL(), id, why)
}

// removed replaces the name of a brain that was removed, which a list may still have.
const removed = ""

// list implements census.Lister. A daemon that refuses to list for good has no list.
func (e *Endpoint) list(ctx context.Context, brain string) (list []byte, err error) {
	path := "/v1/brains"
	if brain != "" {
		path = listingPath(brain)
	}
	err = Retry(ctx, CallTimeout, func(ctx context.Context) (err error) {
		list, err = e.read(ctx, Request{Method: http.MethodGet, Path: path, Accept: protocol.TypeJSON})
		return err
	})
	f, failed := errors.AsType[*Failure](err)
	switch {
	case failed && f.Status == http.StatusRequestEntityTooLarge:
		return nil, census.ErrMany
	case failed && f.Status != 0 && !f.retry:
		return nil, nil
	}
	return list, err
}

func listingPath(id string) string { return BrainPath(id) + "/documents?dir=&recursive=true" }

// unusable returns the error for a brain that cannot be evaluated.
func (s *protocolStore) unusable(name string, reason error) error {
	return fmt.Errorf("brain %q at %s: %w", name, s.endpoint.URL(), reason)
}

// Find implements Store. It searches with OwnQuery, never with a question. If the search finds
// nothing, the brain counts as empty only if its list of documents is empty too. A daemon without
// such a list is trusted to have documents.
func (s *protocolStore) Find(ctx context.Context, name string) (string, error) {
	id, err := s.lookUp(ctx, name)
	if err != nil {
		return "", err
	}
	var chunks []result.Chunk
	err = Retry(ctx, CallTimeout, func(ctx context.Context) (err error) {
		chunks, err = s.Search(ctx, id, OwnQuery, 1)
		return err
	})
	if hasStatus(err, http.StatusNotFound) {
		return id, s.unusable(name, ErrMissing)
	}
	if err != nil {
		return id, fmt.Errorf("search brain %q: %w", name, err)
	}
	if len(chunks) > 0 {
		return id, nil
	}
	o, err := s.endpoint.get(ctx, listingPath(id))
	if hasStatus(err, http.StatusRequestEntityTooLarge) {
		return id, nil // more documents than a listing may contain
	}
	if notServed(err) {
		return id, nil // OwnQuery may share no word with the documents
	}
	if err != nil {
		return id, fmt.Errorf("list the documents of brain %q: %w", name, err)
	}
	items := o.Get("items")
	if len(items) == 0 || items[0] != '[' {
		return id, nil
	}
	for range jsonobj.Elements(items) {
		return id, nil
	}
	return id, s.unusable(name, ErrEmpty)
}

// lookUp finds a brain among the daemon's ids, else its slugs, else its names. Only names may be
// shared: then the brain that is meant is unknown. If the daemon cannot list its brains, the
// name is taken as the id.
func (s *protocolStore) lookUp(ctx context.Context, name string) (id string, err error) {
	o, err := s.endpoint.get(ctx, "/v1/brains")
	if notServed(err) {
		return name, nil
	}
	if err != nil {
		return "", fmt.Errorf("list brains: %w", err)
	}
	items := o.Get("items")
	if len(items) == 0 || items[0] != '[' {
		return name, nil
	}
	var found [3][]string // the ids of brains with this id, slug and name
	for element := range jsonobj.Elements(items) {
		item, err := jsonobj.Parse(element)
		if err != nil {
			return name, nil //nolint:nilerr // the daemon cannot list its brains
		}
		id := item.Text("id", "brain_id", "brainId")
		by := slices.Index([]string{id, item.Text("slug"), item.Text("name")}, name)
		if id = cmp.Or(id, name); by >= 0 && !slices.Contains(found[by], id) {
			found[by] = append(found[by], id)
		}
	}
	for _, ids := range found {
		if len(ids) > 1 {
			return "", fmt.Errorf("%s at %s are called %q, so give an id: %s", figure.Count(len(ids), "brain"),
				s.endpoint.URL(), name, namesOf(ids))
		}
		if len(ids) == 1 {
			return ids[0], nil
		}
	}
	return "", s.unusable(name, ErrMissing)
}

// get reads an object with retries.
func (e *Endpoint) get(ctx context.Context, path string) (o jsonobj.Object, err error) {
	err = Retry(ctx, CallTimeout, func(ctx context.Context) (err error) {
		o, err = e.Object(ctx, Request{Method: http.MethodGet, Path: path})
		return err
	})
	return o, err
}

// Search implements Store.
func (s *protocolStore) Search(ctx context.Context, id, query string, topK int) ([]result.Chunk, error) {
	query = printable.First(withoutOperators(query), protocol.MaxSearchQuery)
	body := map[string]any{"query": query, "top_k": topK, "mode": protocol.ModeAuto}
	ctx, cancel := TimeLimit(ctx, CallTimeout)
	defer cancel()
	o, err := s.endpoint.Object(ctx, Request{
		Method: http.MethodPost, Path: BrainPath(id) + "/search", ContentType: protocol.TypeJSON,
		Body: Encode(s.dialect, body, nil),
	})
	if err != nil {
		return nil, err
	}
	return SearchChunks(o)
}

// withoutOperators removes search operators from a text. When searching for a document by its
// words, a dash before a word must not exclude the word.
func withoutOperators(text string) string {
	fields := strings.Fields(strings.NewReplacer(`"`, " ", "“", " ", "”", " ", "*", " ").Replace(text))
	for i, field := range fields {
		fields[i] = strings.TrimLeft(field, "-−+")
	}
	return strings.TrimSpace(strings.Join(fields, " "))
}

// Remove implements Store. An id must be of a brain that this process created. A name is that of
// a brain that the caller knows to be an earlier process's.
func (s *protocolStore) Remove(ctx context.Context, id, name string) (err error) {
	ctx, cancel := TimeLimit(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	if id == "" {
		if id, err = s.lookUp(ctx, name); err != nil {
			if errors.Is(err, ErrMissing) {
				return nil
			}
			return err
		}
	} else if _, own := created.Load(id); !own {
		return fmt.Errorf("brain %q was not created by this process, so it is not removed", id)
	}
	r := Request{Method: http.MethodDelete, Path: BrainPath(id), Header: map[string]string{"X-Confirm-Delete": "yes"}}
	err = Retry(ctx, removeWithin, func(ctx context.Context) error { return s.endpoint.Change(ctx, r) })
	switch f, failed := errors.AsType[*Failure](err); {
	case err == nil, failed && f.Status == http.StatusNotFound:
		s.endpoint.names.Store(id, removed)
		return nil
	case failed && f.retry:
		// It will remove no other brain either.
		return fmt.Errorf("%w within %v: %w", ErrNoAnswer, removeWithin, err)
	}
	return err
}

// hasStatus reports whether err is a failure with this HTTP status.
func hasStatus(err error, status int) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Status == status
}

// notServed reports whether a daemon lacks the endpoint.
func notServed(err error) bool {
	return hasStatus(err, http.StatusNotFound) || hasStatus(err, http.StatusMethodNotAllowed)
}

// withGrace returns a context that ends some time after ctx does.
func withGrace(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(while, func() { cancel(context.Cause(ctx)) })
	})
	return longer, func() { stop(); cancel(nil) }
}
