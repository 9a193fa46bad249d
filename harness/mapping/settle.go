package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"evalctl/harness/target"
	"evalctl/internal/retry"
)

// settle calls finish and then ready after texts were written to a brain, before it is searched. If
// the service is not ready in time, it is searched anyway, and the result says so.
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
	values := map[string]any{"brain": b.id()}
	if o := s.mapping.finish; o != nil {
		if _, err := s.once(ctx, b, o, values); err != nil {
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
// operation's time limit.
func (s *Service) awaitReady(ctx context.Context, b *brain, r *readiness, values map[string]any) error {
	since, before := time.Now(), ""
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		a, err := s.call(ctx, b, r.operation, values)
		if f, ok := target.AsFailure(err); err != nil && (!ok || !f.Retryable()) {
			return err
		}
		if err == nil {
			ready, progress, err := r.holds(a)
			if err != nil || ready {
				return err
			}
			if r.progress != nil && progress != before {
				since, before = time.Now(), progress
			}
		}
		if time.Since(since) > r.within {
			s.seen.notReady(fmt.Sprintf("%s did not say within %v that the written texts are ready, and they were searched nevertheless", r.called(), r.within))
			return nil
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
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
	want, err := json.Marshal(r.is.render(nil))
	if err != nil {
		return false, "", err
	}
	for _, n := range r.at.Select(value) {
		got, err := json.Marshal(n)
		if err == nil && bytes.Equal(got, want) {
			return true, progress, nil
		}
	}
	return false, progress, nil
}
