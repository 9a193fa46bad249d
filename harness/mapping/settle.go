package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"evalctl/harness/target"
	"evalctl/internal/retry"
)

// settle calls finish and then ready after texts were written to a brain, before it is searched. If
// the service is not ready in time, it is searched anyway, and the result says so. A load test
// retries finish too: it belongs to the writes, and every search would fail until it succeeds.
func (s *Service) settle(ctx context.Context, b *brain) error {
	if s.mapping.finish == nil && s.mapping.ready == nil {
		return nil
	}
	b.settling.Lock()
	defer b.settling.Unlock()
	b.mu.Lock()
	fresh := b.fresh
	b.mu.Unlock()
	if !fresh {
		return nil
	}
	values := map[string]any{"brain": b.sentID()}
	if o := s.mapping.finish; o != nil {
		if _, err := s.once(target.WithRetries(ctx), b, o, values); err != nil {
			return err
		}
	}
	if r := s.mapping.ready; r != nil {
		if err := s.awaitReady(ctx, b, r, values); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh = false
	return nil
}

// awaitReady polls until the condition holds, or until there has been no progress within the
// operation's time limit. It waits between polls as long as the service asks for, within the
// limit.
func (s *Service) awaitReady(ctx context.Context, b *brain, r *readiness, values map[string]any) error {
	since, before := time.Now(), ""
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		a, busy, err := s.askReady(ctx, b, r, values)
		if err != nil {
			return err
		}
		if a != nil {
			ready, progress, err := r.holds(*a)
			if err != nil || ready {
				return err
			}
			if r.progress != nil && progress != before {
				since, before = time.Now(), progress
			}
		}
		left := r.within - time.Since(since)
		if left <= 0 {
			s.seen.notReady(fmt.Sprintf("%s did not say within %v that the written texts are ready, and they were searched nevertheless", r.called(), r.within))
			return nil
		}
		if err := retry.Sleep(ctx, min(max(wait, busy), left)); err != nil {
			return err
		}
	}
}

// askReady makes one call. The reply is nil if the service is too busy to answer, or does not
// answer within the operation's time limit. busy is the wait that it asks for, 0 for none.
func (s *Service) askReady(ctx context.Context, b *brain, r *readiness, values map[string]any) (a *callReply, busy time.Duration, err error) {
	limited, cancel := target.TimeLimit(ctx, r.within)
	defer cancel()
	got, err := s.call(limited, b, r.operation, values)
	f, failed := target.AsFailure(err)
	switch {
	case err == nil:
		return &got, 0, nil
	case errors.Is(err, target.ErrNoAnswer) && ctx.Err() == nil:
		return nil, 0, nil
	case failed && f.Retryable():
		return nil, f.RetryAfter(), nil
	}
	return nil, 0, err
}

// holds reports whether a reply says that written texts can be searched, and its progress.
func (r *readiness) holds(a callReply) (ready bool, progress string, err error) {
	if r.matches != nil && r.progress == nil {
		return r.matches.MatchString(a.text()), "", nil
	}
	value, err := a.value(r.called())
	if err != nil {
		return false, "", err
	}
	progress = textAt(r.progress, value)
	if r.matches != nil {
		return r.matches.MatchString(a.text()), progress, nil
	}
	data, err := json.Marshal(r.is.render(nil))
	if err != nil {
		return false, "", err
	}
	want, err := decode(bytes.NewReader(data))
	if err != nil {
		return false, "", err
	}
	return slices.ContainsFunc(r.at.Select(value), func(n any) bool { return sameJSON(n, want) }), progress, nil
}

// sameJSON reports whether two decoded JSON values are equal. Numbers are, however they are
// written.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	}
	return a == b
}

// sameNumber compares whole numbers exactly and others as float64.
func sameNumber(a, b json.Number) bool {
	i, errI := a.Int64()
	j, errJ := b.Int64()
	if errI == nil && errJ == nil {
		return i == j
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return a == b || errX == nil && errY == nil && x == y
}
