package seed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/target"
)

// mostProbes is how many documents are searched for at a service that may lose some.
const mostProbes = 100

// spread returns at most most of the indexes below n, evenly.
func spread(n, most int) []int {
	if n <= most {
		most = n
	}
	out := make([]int, most)
	for i := range out {
		out[i] = i * n / most
	}
	return out
}

// awaitAll searches for documents until all are found, or until for searchableWithin no more of them
// are, and returns how many are missing. A memory may prepare texts for as long as it takes, and what
// it never finds is a finding about it.
func (b *Brain) awaitAll(ctx context.Context, probes []probe) (missing int, err error) {
	left := slices.Clone(probes)
	progress := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		before := len(left)
		var failed error // the last search, which may succeed later
		left, failed = b.without(ctx, left)
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case failed != nil && len(left) == 0:
			return 0, failed
		case len(left) == 0:
			return 0, nil
		case len(left) < before:
			progress, wait = time.Now(), 10*time.Millisecond
		case time.Since(progress) > searchableWithin && failed != nil:
			return 0, fmt.Errorf("search for the document %s within %v: %w", left[0].doc, searchableWithin, failed)
		case time.Since(progress) > searchableWithin:
			return len(left), nil
		}
		if f, ok := errors.AsType[*target.Failure](failed); ok {
			wait = max(wait, f.RetryAfter())
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// without returns the probes that a search does not find. It ends with the first search that fails: the
// error is that failure, and no probe is left if the same search cannot succeed later.
func (b *Brain) without(ctx context.Context, probes []probe) (left []probe, failed error) {
	for i, p := range probes {
		chunks, err := b.Search(ctx, p.query, protocol.MaxAskTopK)
		f, ok := errors.AsType[*target.Failure](err)
		switch {
		case err != nil && !errors.Is(err, target.ErrNoAnswer) && (!ok || !f.Retryable()):
			return nil, fmt.Errorf("search for the seeded document %s: %w", p.doc, err)
		case err != nil:
			return append(left, probes[i:]...), err
		case !slices.ContainsFunc(chunks, p.found):
			left = append(left, p)
		}
	}
	return left, nil
}
