package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"evalctl/daemon/protocol"
	"evalctl/internal/jsonobj"
)

// SeedRoot is the folder of a brain that a corpus is written below: some
// daemons index only a few folders, and all of them index this one.
const SeedRoot = "raw/documents/"

// seedWriters is how many requests write documents at once, and brainsAtOnce
// how many brains are filled or looked for at once.
const (
	seedWriters  = 8
	brainsAtOnce = 4
)

// Errors that callers tell apart.
var (
	ErrBrainExists  = errors.New("the brain exists already")
	ErrBrainMissing = errors.New("the brain is missing")
	ErrBrainEmpty   = errors.New("the brain is empty")
)

// removeWithin is how long a brain may take to be removed.
const removeWithin = 5 * time.Second

// persist repeats a call by the rules of Target.Ask, but for as long as within
// allows: a daemon that holds its clients back while it takes in a corpus is no
// reason to give up. The call must be safe to repeat (spec 7.4).
func persist(ctx context.Context, within time.Duration, once func(context.Context) error) error {
	cctx, cancel := timeLimit(ctx, within)
	defer cancel()
	deadline := time.Now().Add(within)
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 2*time.Second
	var last error // also when the wait after it was cut short
	_, _ = backoff.Retry(cctx, func() (struct{}, error) {
		last = once(cctx)
		return struct{}{}, schedule(last, time.Until(deadline))
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0))
	if last != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return last
}

// removeBrain removes a brain that this run created, also when ctx has ended.
func removeBrain(ctx context.Context, e *Endpoint, id string) error {
	ctx, cancel := timeLimit(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	r := request{method: http.MethodDelete, path: brainPath(id)}
	// No body, so that the client may send it again when the daemon had closed
	// the connection.
	req, err := http.NewRequestWithContext(ctx, r.method, e.base+r.path, http.NoBody)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	req.Header.Set("User-Agent", e.agent)
	req.Header.Set("X-Confirm-Delete", "yes")
	if e.token != "" {
		req.Header.Set("Authorization", "Bearer "+e.token)
	}
	res, err := e.http.Do(req)
	if err != nil {
		return transportFailure(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 && res.StatusCode != http.StatusNotFound {
		return statusFailure(r, res)
	}
	return nil
}

func createBrain(ctx context.Context, e *Endpoint, brain string, d Dialect) (string, error) {
	r := request{
		method: http.MethodPost, path: "/v1/brains", contentType: protocol.TypeJSON, accept: protocol.TypeJSON,
		body: d.encode(body{"name": brain, "brain_id": brain}, map[string][]string{"brain_id": {"id", "slug"}}),
	}
	var o jsonobj.Object
	err := persist(ctx, callTimeout, func(ctx context.Context) (err error) {
		o, err = e.created(ctx, r)
		if f, ok := errors.AsType[*Failure](err); ok && f.Status != http.StatusTooManyRequests && f.Status != http.StatusServiceUnavailable {
			f.retry = false // the brain may be there, and would seem to have been before
		}
		return err
	})
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusConflict {
		return "", fmt.Errorf("brain %q at %s: %w; delete it, choose another name, or leave the corpus out (--corpus none) to evaluate it as it is", brain, e.URL(), ErrBrainExists)
	}
	if err != nil {
		return "", fmt.Errorf("create brain %q: %w", brain, err)
	}
	if id := o.Text("id", "brain_id", "brainId"); id != "" {
		return id, nil
	}
	return brain, nil
}

// findBrain looks for a brain that must hold documents already and returns
// the id under which the daemon knows it. It is ErrBrainMissing or
// ErrBrainEmpty when evaluating it would only measure that; query is any
// question of the dataset.
func findBrain(ctx context.Context, e *Endpoint, brain string, d Dialect, query string) (string, error) {
	id, err := lookUp(ctx, e, brain)
	if err != nil {
		return "", err
	}
	var chunks []Chunk
	err = persist(ctx, callTimeout, func(ctx context.Context) (err error) {
		chunks, err = probe(ctx, e, id, query, d, 1)
		return err
	})
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusNotFound {
		return "", missing(e, brain)
	}
	if err != nil {
		return "", fmt.Errorf("search brain %q: %w", brain, err)
	}
	if len(chunks) > 0 {
		return id, nil
	}
	o, err := get(ctx, e, brainPath(id)+"/documents?dir=&recursive=true")
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusRequestEntityTooLarge {
		return id, nil // more documents than a listing may hold
	}
	if err != nil && !notServed(err) {
		return "", fmt.Errorf("list the documents of brain %q: %w", brain, err)
	}
	var items []json.RawMessage
	if json.Unmarshal(o.Get("items"), &items) == nil && len(items) > 0 {
		return id, nil
	}
	return "", fmt.Errorf("brain %q at %s: %w; give its documents with --corpus", brain, e.URL(), ErrBrainEmpty)
}

// get reads an object, with the patience of persist.
func get(ctx context.Context, e *Endpoint, path string) (o jsonobj.Object, err error) {
	err = persist(ctx, callTimeout, func(ctx context.Context) (err error) {
		o, err = e.call(ctx, request{method: http.MethodGet, path: path})
		return err
	})
	return o, err
}

// notServed tells whether a daemon does not have the endpoint at all.
func notServed(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed)
}

// lookUp finds a brain by id, slug or name; a daemon that cannot list is
// believed.
func lookUp(ctx context.Context, e *Endpoint, brain string) (string, error) {
	o, err := get(ctx, e, "/v1/brains")
	if notServed(err) {
		return brain, nil
	}
	if err != nil {
		return "", fmt.Errorf("list brains: %w", err)
	}
	items, ok := jsonobj.Objects(o.Get("items"))
	if !ok {
		return brain, nil
	}
	for _, b := range items {
		id := b.Text("id", "brain_id", "brainId")
		if id == brain || b.Text("slug") == brain || b.Text("name") == brain {
			return cmp.Or(id, brain), nil
		}
	}
	return "", missing(e, brain)
}

func missing(e *Endpoint, brain string) error {
	return fmt.Errorf("brain %q at %s: %w; give its documents with --corpus, or another --brain", brain, e.URL(), ErrBrainMissing)
}
