package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/daemon/protocol"
)

// SeedRoot is the folder of a brain that a corpus is written below: some
// daemons index only a few folders, and all of them index this one.
const SeedRoot = "raw/documents/"

// seedWriters is how many documents are written at once.
const seedWriters = 8

// searchableWithin is how long the last document may take to be found.
const searchableWithin = 30 * time.Second

// Errors that callers tell apart.
var (
	ErrBrainExists  = errors.New("the brain exists already")
	ErrBrainMissing = errors.New("the brain is missing")
	ErrBrainEmpty   = errors.New("the brain is empty")
)

// samePath tells whether a daemon's path names the corpus document want, which
// was written below SeedRoot.
func samePath(got, want string) bool {
	return got == want || strings.TrimPrefix(got, SeedRoot) == want
}

// Seed creates the brain, writes the corpus over the documents protocol and
// waits until a search finds the document written last. It returns the id
// under which the daemon knows the brain. A brain that exists is
// ErrBrainExists, and nothing is written to it.
func Seed(ctx context.Context, e *Endpoint, brain string, d Dialect, c Corpus) (id string, err error) {
	if id, err = createBrain(ctx, e, brain, d); err != nil {
		return "", err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(seedWriters)
	last := c.Docs[len(c.Docs)-1]
	for _, doc := range c.Docs[:len(c.Docs)-1] {
		g.Go(func() error { return putDoc(gctx, e, id, doc) })
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	if err := putDoc(ctx, e, id, last); err != nil {
		return "", err
	}
	return id, awaitSearchable(ctx, e, id, d, last)
}

func createBrain(ctx context.Context, e *Endpoint, brain string, d Dialect) (string, error) {
	o, err := e.call(ctx, request{
		method: http.MethodPost, path: "/v1/brains", contentType: protocol.TypeJSON,
		body: d.encode(body{"name": brain, "brain_id": brain}, map[string][]string{"brain_id": {"id", "slug"}}),
	})
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusConflict {
		return "", fmt.Errorf("brain %q at %s: %w; give another --brain, or leave the corpus out (--corpus none) to evaluate it as it is", brain, e.URL(), ErrBrainExists)
	}
	if err != nil {
		return "", fmt.Errorf("create brain %q: %w", brain, err)
	}
	if id := o.text("id", "brain_id", "brainId"); id != "" {
		return id, nil
	}
	return brain, nil
}

func putDoc(ctx context.Context, e *Endpoint, brain string, doc Doc) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errCallTimeout)
	defer cancel()
	res, err := e.do(ctx, request{
		method:      http.MethodPut,
		path:        brainPath(brain) + "/documents?path=" + url.QueryEscape(SeedRoot+doc.Path),
		contentType: protocol.TypeBytes, accept: protocol.TypeJSON, body: doc.Data,
	})
	if err != nil {
		return fmt.Errorf("write document %s: %w", doc.Path, err)
	}
	return res.Body.Close()
}

// probe searches and returns the chunks.
func probe(ctx context.Context, e *Endpoint, brain, query string, d Dialect, topK int) ([]Chunk, error) {
	o, err := e.call(ctx, request{
		method: http.MethodPost, path: brainPath(brain) + "/search", contentType: protocol.TypeJSON,
		body: d.encode(body{"query": query, "top_k": topK, "mode": protocol.ModeAuto}, nil),
	})
	if err != nil {
		return nil, err
	}
	return o.chunks("chunks", "hits")
}

// awaitSearchable polls until doc is found by its own words, because a daemon
// may index after it has answered.
func awaitSearchable(ctx context.Context, e *Endpoint, brain string, d Dialect, doc Doc) error {
	query := probeWords(doc)
	start := time.Now()
	wait := 5 * time.Millisecond
	for {
		chunks, err := probe(ctx, e, brain, query, d, protocol.MaxAskTopK)
		if err != nil {
			return fmt.Errorf("search for the seeded document %s: %w", doc.Path, err)
		}
		for _, c := range chunks {
			if samePath(c.Path, doc.Path) || samePath(c.DocumentID, doc.Path) {
				return nil
			}
		}
		if time.Since(start) > searchableWithin {
			return fmt.Errorf("document %s was written but is not found after %v (the last search gave %d chunks); does the daemon index %s?",
				doc.Path, searchableWithin, len(chunks), SeedRoot)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, 250*time.Millisecond)
	}
}

// probeWords is the end of a document's text, which sets it apart better than
// its front matter would.
func probeWords(doc Doc) string {
	words := strings.Fields(strings.ToValidUTF8(string(doc.Data), " "))
	if len(words) > 40 {
		words = words[len(words)-40:]
	}
	r := []rune(strings.Join(words, " "))
	return string(r[:min(len(r), 1000)])
}

// FindBrain looks for a brain that must hold documents already and returns
// the id under which the daemon knows it. It is ErrBrainMissing or
// ErrBrainEmpty when evaluating it would only measure that; query is any
// question of the dataset.
func FindBrain(ctx context.Context, e *Endpoint, brain string, d Dialect, query string) (string, error) {
	id, err := lookUp(ctx, e, brain)
	if err != nil {
		return "", err
	}
	chunks, err := probe(ctx, e, id, query, d, 1)
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusNotFound {
		return "", missing(e, brain)
	}
	if err != nil {
		return "", fmt.Errorf("search brain %q: %w", brain, err)
	}
	if len(chunks) > 0 {
		return id, nil
	}
	o, err := e.call(ctx, request{method: http.MethodGet, path: brainPath(id) + "/documents?dir=&recursive=true"})
	if f, ok := errors.AsType[*Failure](err); ok && f.Status == http.StatusRequestEntityTooLarge {
		return id, nil // more documents than a listing may hold
	}
	if err != nil && !notServed(err) {
		return "", fmt.Errorf("list the documents of brain %q: %w", brain, err)
	}
	var items []json.RawMessage
	if json.Unmarshal(o["items"], &items) == nil && len(items) > 0 {
		return id, nil
	}
	return "", fmt.Errorf("brain %q at %s: %w; give its documents with --corpus", brain, e.URL(), ErrBrainEmpty)
}

// notServed tells whether a daemon does not have the endpoint at all.
func notServed(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed)
}

// lookUp finds a brain by id, slug or name; a daemon that cannot list is
// believed.
func lookUp(ctx context.Context, e *Endpoint, brain string) (string, error) {
	o, err := e.call(ctx, request{method: http.MethodGet, path: "/v1/brains"})
	if notServed(err) {
		return brain, nil
	}
	if err != nil {
		return "", fmt.Errorf("list brains: %w", err)
	}
	var items []object
	if json.Unmarshal(o["items"], &items) != nil {
		return brain, nil
	}
	for _, b := range items {
		id := b.text("id", "brain_id", "brainId")
		if id == brain || b.text("slug") == brain || b.text("name") == brain {
			return cmp.Or(id, brain), nil
		}
	}
	return "", missing(e, brain)
}

func missing(e *Endpoint, brain string) error {
	return fmt.Errorf("brain %q at %s: %w; give its documents with --corpus, or another --brain", brain, e.URL(), ErrBrainMissing)
}
