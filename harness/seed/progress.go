package seed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/target"
	"evalctl/internal/retry"
)

// mostProbes limits the number of documents that are searched for at a service that may lose some.
const mostProbes = 100

// spread returns at most most indexes below n, evenly spaced.
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

// awaitAll searches for documents until all are found, or until no more were found for
// searchableWithin, and returns the number of missing ones. A memory may take any time to prepare
// texts, and a text never found is a finding about it.
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
		if err := retry.Sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// without returns the probes that a search does not find. It stops at the first failed search and
// returns the failure; for a permanent failure left is nil.
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
