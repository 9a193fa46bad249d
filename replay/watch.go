package replay

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/gateway"
	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// watch is an Answerer that detects restarts of the daemon behind another Answerer. A daemon that
// keeps brains in memory loses them in a restart: every further answer would be wrong, so the run
// must stop.
type watch struct {
	harness.Answerer
	// probe searches to see whether a brain exists.
	probe *target.Target
	// money counts the daemon's model calls.
	money *gateway.Gates
	*outages
}

// outages tracks the restarts of a daemon for all questions.
type outages struct {
	// down is set while the daemon refuses connections. restarts counts how often it came back, and
	// last is when it was last counted.
	mu       sync.Mutex
	down     bool
	restarts int
	last     time.Time
	// sourced is set once an answer had usable passages.
	sourced atomic.Bool
}

// checkTimeout limits the check of whether a brain exists.
const checkTimeout = 5 * time.Second

// Ask implements harness.Answerer.
func (w *watch) Ask(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error) {
	defer w.money.Enter(ledger.Actor)()
	began := time.Now()
	a, err := w.Answerer.Ask(ctx, q, timeout)
	f, failed := target.AsFailure(err)
	if err != nil && !failed {
		return a, err
	}
	if refused := w.money.Err(); refused != nil {
		return a, refused // the daemon failed because a model did, or answered with less
	}
	refused := slices.ContainsFunc(a.Failed, result.Failure.Unreachable)
	switch {
	case failed && f.Unreachable():
		w.refused()
		return a, err
	case failed && f.Status != http.StatusNotFound && !refused:
		return a, err
	}
	if !failed && a.Answer != "" && len(a.Retrieved) > 0 {
		w.sourced.Store(true)
	}
	if restarted := w.answered(began, refused); !restarted && !failed {
		return a, err
	}
	if gone := w.check(ctx, q); gone != nil {
		return a, gone
	}
	return a, err
}

func (w *outages) refused() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
}

// answered reports whether the daemon answers again after refusing a connection. Questions that
// began before a restart was counted belong to the same restart.
func (w *outages) answered(began time.Time, refused bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.down && !refused {
		return false
	}
	w.down = false
	if began.After(w.last) {
		w.restarts++
		w.last = time.Now()
	}
	return true
}

// count returns how often the daemon came back.
func (w *outages) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.restarts
}

// check returns an error that stops the run if a question's brain is missing or empty.
func (w *watch) check(ctx context.Context, q dataset.Question) error {
	a, err := w.probe.Ask(ctx, q, checkTimeout)
	f, failed := target.AsFailure(err)
	gone := failed && f.Status == http.StatusNotFound || err == nil && len(a.Retrieved) == 0
	if !gone {
		return nil
	}
	return fmt.Errorf("%w: it was started again and has lost brain %s; start it with a folder for its "+
		"data, then continue with --resume", harness.ErrDaemonDied, w.probe.Brains[q.Brain])
}
