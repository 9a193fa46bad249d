package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
)

// Reasons why a brain cannot be evaluated.
var (
	ErrBrainExists  = errors.New("the brain exists already")
	ErrBrainMissing = errors.New("the brain is missing")
	ErrBrainEmpty   = errors.New("the brain is empty")
)

// removeWithin is how long a brain may take to be removed.
const removeWithin = 5 * time.Second

// remoteBrain is one brain of a daemon.
type remoteBrain struct {
	endpoint *Endpoint
	dialect  result.Dialect
	name     string // the run's name for it
	id       string // the daemon's, once create or find has returned without an error
}

func (b *remoteBrain) path() string { return brainPath(b.id) }

func brainPath(id string) string { return "/v1/brains/" + url.PathEscape(id) }

// create creates the brain. One that is there already is ErrBrainExists.
func (b *remoteBrain) create(ctx context.Context) error {
	r := request{
		method: http.MethodPost, path: "/v1/brains",
		contentType: protocol.TypeJSON, accept: protocol.TypeJSON,
		body: encode(b.dialect, body{"name": b.name, "brain_id": b.name}, map[string][]string{"brain_id": {"id", "slug"}}),
	}
	var o jsonobj.Object
	err := retryFor(ctx, callTimeout, func(ctx context.Context) (err error) {
		o, err = b.endpoint.created(ctx, r)
		f, ok := errors.AsType[*Failure](err)
		if ok && f.Status != http.StatusTooManyRequests && f.Status != http.StatusServiceUnavailable {
			f.retry = false // the brain may have been created, and would then seem to be an older one
		}
		return err
	})
	if hasStatus(err, http.StatusConflict) {
		return fmt.Errorf("brain %q at %s: %w; delete it, choose another name, or leave the corpus out (--corpus none) to evaluate it as it is", b.name, b.endpoint.URL(), ErrBrainExists)
	}
	if err != nil {
		return fmt.Errorf("create brain %q: %w", b.name, err)
	}
	b.id = cmp.Or(o.Text("id", "brain_id", "brainId"), b.name)
	return nil
}

// find looks for a brain that must exist and contain documents, since evaluating another one would
// measure nothing: otherwise the error is ErrBrainMissing or ErrBrainEmpty. query is any question
// of the dataset.
func (b *remoteBrain) find(ctx context.Context, query string) error {
	if err := b.lookUp(ctx); err != nil {
		return err
	}
	var chunks []result.Chunk
	err := retryFor(ctx, callTimeout, func(ctx context.Context) (err error) {
		chunks, err = b.search(ctx, query, 1)
		return err
	})
	if hasStatus(err, http.StatusNotFound) {
		return b.missing()
	}
	if err != nil {
		return fmt.Errorf("search brain %q: %w", b.name, err)
	}
	if len(chunks) > 0 {
		return nil
	}
	o, err := b.endpoint.get(ctx, b.path()+"/documents?dir=&recursive=true")
	if hasStatus(err, http.StatusRequestEntityTooLarge) {
		return nil // more documents than a listing may contain
	}
	if err != nil && !notServed(err) {
		return fmt.Errorf("list the documents of brain %q: %w", b.name, err)
	}
	var items []json.RawMessage
	if json.Unmarshal(o.Get("items"), &items) == nil && len(items) > 0 {
		return nil
	}
	return fmt.Errorf("brain %q at %s: %w; give its documents with --corpus", b.name, b.endpoint.URL(), ErrBrainEmpty)
}

// lookUp sets id by looking for the name among the daemon's ids, slugs and names. Where the daemon
// has no list of brains, the name is taken for the id.
func (b *remoteBrain) lookUp(ctx context.Context) error {
	b.id = b.name
	o, err := b.endpoint.get(ctx, "/v1/brains")
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
	return b.missing()
}

func (b *remoteBrain) missing() error {
	return fmt.Errorf("brain %q at %s: %w; give its documents with --corpus, or another --brain", b.name, b.endpoint.URL(), ErrBrainMissing)
}

// search returns the chunks found for query, of which only as much is sent as a query may have.
func (b *remoteBrain) search(ctx context.Context, query string, topK int) ([]result.Chunk, error) {
	if r := []rune(query); len(r) > protocol.MaxSearchQuery {
		query = string(r[:protocol.MaxSearchQuery])
	}
	o, err := b.endpoint.call(ctx, request{
		method: http.MethodPost, path: b.path() + "/search", contentType: protocol.TypeJSON,
		body: encode(b.dialect, body{"query": query, "top_k": topK, "mode": protocol.ModeAuto}, nil),
	})
	if err != nil {
		return nil, err
	}
	return chunksOf(o, "chunks", "hits")
}

// remove removes a brain that this run created, even if ctx has ended.
func (b *remoteBrain) remove(ctx context.Context) error {
	ctx, cancel := timeLimit(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	r := request{
		method: http.MethodDelete, path: b.path(),
		header: map[string]string{"X-Confirm-Delete": "yes"},
	}
	res, err := b.endpoint.do(ctx, r)
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return res.Body.Close()
}
