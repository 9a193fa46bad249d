package seed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/jsonobj"
)

// Reasons why a brain cannot be evaluated.
var (
	ErrExists  = errors.New("the brain exists already")
	ErrMissing = errors.New("the brain is missing")
	ErrEmpty   = errors.New("the brain is empty")
)

// removeWithin is how long a brain may take to be removed.
const removeWithin = 5 * time.Second

// Brain is one brain of a daemon. Before its documents are written it is created or found.
type Brain struct {
	endpoint *target.Endpoint
	dialect  result.Dialect
	name     string
	id       string // the daemon's, once Create or Find has returned without an error
}

// NewBrain returns the brain with a name, which may not exist yet.
func NewBrain(e *target.Endpoint, d result.Dialect, name string) *Brain {
	return &Brain{endpoint: e, dialect: d, name: name}
}

// ID returns the daemon's id of the brain, once Create or Find has returned without an error.
func (b *Brain) ID() string { return b.id }

func (b *Brain) path() string { return target.BrainPath(b.id) }

// Create creates the brain. The error is ErrExists if there is one already. So that the id of a
// brain that is created is known, the request may end a while after ctx does.
func (b *Brain) Create(ctx context.Context) error {
	body := map[string]any{"name": b.name, "brain_id": b.name}
	r := target.Request{
		Method: http.MethodPost, Path: "/v1/brains", ContentType: protocol.TypeJSON,
		Body: target.Encode(b.dialect, body, map[string][]string{"brain_id": {"id", "slug"}}),
	}
	// If the request were cut off, the brain might exist without an id to remove it by.
	ctx, cancel := withGrace(ctx, removeWithin)
	defer cancel()
	var o jsonobj.Object
	err := target.Retry(ctx, target.CallTimeout, func(ctx context.Context) (err error) {
		o, err = b.endpoint.Create(ctx, r)
		return err
	})
	if hasStatus(err, http.StatusConflict) {
		return b.unusable(ErrExists)
	}
	if err != nil {
		return fmt.Errorf("create brain %q: %w", b.name, err)
	}
	b.id = cmp.Or(o.Text("id", "brain_id", "brainId"), b.name)
	return nil
}

// unusable returns the error for a brain that cannot be evaluated.
func (b *Brain) unusable(reason error) error {
	return fmt.Errorf("brain %q at %s: %w", b.name, b.endpoint.URL(), reason)
}

// Find looks for a brain that must exist and contain documents, because an evaluation of another
// one would measure nothing. Otherwise the error is ErrMissing or ErrEmpty. It searches with
// target.OwnQuery, never with a question. A brain in which that finds nothing is empty only if its
// list of documents says so; a daemon without such a list is believed.
func (b *Brain) Find(ctx context.Context) error {
	if err := b.lookUp(ctx); err != nil {
		return err
	}
	var chunks []result.Chunk
	err := target.Retry(ctx, target.CallTimeout, func(ctx context.Context) (err error) {
		chunks, err = b.Search(ctx, target.OwnQuery, 1)
		return err
	})
	if hasStatus(err, http.StatusNotFound) {
		return b.unusable(ErrMissing)
	}
	if err != nil {
		return fmt.Errorf("search brain %q: %w", b.name, err)
	}
	if len(chunks) > 0 {
		return nil
	}
	o, err := b.get(ctx, b.path()+"/documents?dir=&recursive=true")
	if hasStatus(err, http.StatusRequestEntityTooLarge) {
		return nil // more documents than a listing may contain
	}
	if notServed(err) {
		return nil // OwnQuery may have no word in common with the documents
	}
	if err != nil {
		return fmt.Errorf("list the documents of brain %q: %w", b.name, err)
	}
	var items []json.RawMessage
	if json.Unmarshal(o.Get("items"), &items) == nil && items != nil && len(items) == 0 {
		return b.unusable(ErrEmpty)
	}
	return nil
}

// lookUp sets id by looking for the name among the daemon's ids, slugs and names. If the daemon
// cannot list its brains, the name is taken for the id.
func (b *Brain) lookUp(ctx context.Context) error {
	b.id = b.name
	o, err := b.get(ctx, "/v1/brains")
	if notServed(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list brains: %w", err)
	}
	items, ok := jsonobj.Objects(o.Get("items"))
	if !ok {
		return nil
	}
	for _, item := range items {
		id := item.Text("id", "brain_id", "brainId")
		if id == b.name || item.Text("slug") == b.name || item.Text("name") == b.name {
			b.id = cmp.Or(id, b.name)
			return nil
		}
	}
	return b.unusable(ErrMissing)
}

// get reads an object, trying again as target.Retry does.
func (b *Brain) get(ctx context.Context, path string) (o jsonobj.Object, err error) {
	err = target.Retry(ctx, target.CallTimeout, func(ctx context.Context) (err error) {
		o, err = b.endpoint.Object(ctx, target.Request{Method: http.MethodGet, Path: path})
		return err
	})
	return o, err
}

// Search returns the first topK chunks found for query, which is cut to the length that a query may
// have.
func (b *Brain) Search(ctx context.Context, query string, topK int) ([]result.Chunk, error) {
	if r := []rune(query); len(r) > protocol.MaxSearchQuery {
		query = string(r[:protocol.MaxSearchQuery])
	}
	body := map[string]any{"query": query, "top_k": topK, "mode": protocol.ModeAuto}
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	o, err := b.endpoint.Object(ctx, target.Request{
		Method: http.MethodPost, Path: b.path() + "/search", ContentType: protocol.TypeJSON,
		Body: target.Encode(b.dialect, body, nil),
	})
	if err != nil {
		return nil, err
	}
	return target.SearchChunks(o)
}

// Remove deletes the brain, even if ctx has ended. It is no error if there is none.
func (b *Brain) Remove(ctx context.Context) error {
	ctx, cancel := target.TimeLimit(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	if b.id == "" {
		if err := b.lookUp(ctx); err != nil {
			if errors.Is(err, ErrMissing) {
				return nil
			}
			return err
		}
	}
	res, err := b.endpoint.Do(ctx, target.Request{
		Method: http.MethodDelete, Path: b.path(),
		Header: map[string]string{"X-Confirm-Delete": "yes"},
	})
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// hasStatus reports whether err is a failure with this HTTP status.
func hasStatus(err error, status int) bool {
	f, ok := errors.AsType[*target.Failure](err)
	return ok && f.Status == status
}

// notServed reports whether a daemon does not have the endpoint at all.
func notServed(err error) bool {
	return hasStatus(err, http.StatusNotFound) || hasStatus(err, http.StatusMethodNotAllowed)
}
