package seed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// marker is a document of evalctl's own with a mark, a word unique at the service. It tests whether
// the service stores, finds and forgets a document.
type marker struct {
	store target.Store
	brain string // the service's id of it
	mark  string
	query string // finds it
	doc   dataset.Doc
}

// NewMark returns a random unique word.
func NewMark() string { return "zq" + strings.ToLower(rand.Text()[:10]) }

// MarkedText returns the text of a marker.
func MarkedText(mark string) string {
	return fmt.Sprintf("The harbour master of %s keeps three lanterns.", mark)
}

// newMarker returns a marker in a folder of a brain, without writing it.
func newMarker(store target.Store, brain, folder, mark string) marker {
	return marker{store, brain, mark, mark, dataset.Doc{Path: folder + "/" + mark + ".md", Data: []byte(MarkedText(mark))}}
}

func (m *marker) write(ctx context.Context) error {
	return m.store.Write(ctx, m.brain, []dataset.Doc{m.doc}, 1)
}

func (m *marker) remove(ctx context.Context) error {
	return m.store.Apply(ctx, m.brain, dataset.Operation{Op: dataset.OpDelete, Path: m.doc.Path})
}

// markerDepth is the number of passages in which the marker is looked for.
const markerDepth = 20

// Reasons why a marker was not found or not deleted.
var (
	errNotFound   = errors.New("the text that was written is not found")
	errStillFound = errors.New("the text that was deleted is still found")
)

// await searches until the marker is found, or with want false until it is no longer found, for the
// time that a service may need to index a text. It returns the result of the last search. Temporary
// failures are retried.
func (m *marker) await(ctx context.Context, want bool) (found []result.Chunk, err error) {
	ctx, cancel := target.TimeLimit(ctx, searchableWithin)
	defer cancel()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		found, err = m.store.Search(ctx, m.brain, m.query, markerDepth)
		f, ok := errors.AsType[*target.Failure](err)
		if err == nil && m.among(found) == want || err != nil && (!ok || !f.Retryable()) {
			return found, err
		}
		select {
		case <-time.After(wait):
			continue
		case <-ctx.Done():
		}
		switch {
		case err != nil:
			return found, err
		case want:
			return found, fmt.Errorf("%w within %v (the last search returned %d passages)", errNotFound, searchableWithin, len(found))
		}
		return found, fmt.Errorf("%w after %v", errStillFound, searchableWithin)
	}
}

// among reports whether the marker is among passages. It compares paths too and ignores case: some
// services return no texts, and others change the case of letters.
func (m *marker) among(found []result.Chunk) bool {
	for _, c := range found {
		if c.Path == m.doc.Path || strings.Contains(strings.ToLower(c.Text), m.mark) {
			return true
		}
	}
	return false
}
