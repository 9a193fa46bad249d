package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"evalctl/daemon/store"
)

// operationTimeout is how long a request may wait until the store of its brain is open, and a batch
// until it is committed. It is less than the 30 s that a client waits (spec 8).
const operationTimeout = 25 * time.Second

// store returns the store of the brain that the request names. It opens it if it is closed, which
// may take long: git reads every document. Stores are not opened any faster if a request gives up,
// so opening goes on without it.
func (a *API) store(r *http.Request) (*store.Store, error) {
	type result struct {
		store    *store.Store
		err      error
		panicked any
	}
	h := brainOf(r)
	ctx := context.WithoutCancel(r.Context())
	done := make(chan result, 1)
	release := h.Acquire()
	go func() {
		defer release()
		var res result
		defer func() {
			if p := recover(); p != nil {
				res.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- res
		}()
		res.store, res.err = h.Store(ctx)
	}()
	timeout := time.NewTimer(a.deadline)
	defer timeout.Stop()
	select {
	case res := <-done:
		if res.panicked != nil {
			panic(res.panicked) // in the goroutine of the request, which reports it
		}
		return res.store, res.err
	case <-timeout.C:
		return nil, requestErrorf(errDeadline, "the documents of brain %s were not opened within %v: "+
			"try again later", h.Brain().ID, a.deadline)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// apply commits a batch. A batch that is rejected because of the deadline has changed nothing; one
// whose commit has begun is waited for.
func (a *API) apply(ctx context.Context, st *store.Store, c store.Commit) error {
	limited, cancel := context.WithTimeout(ctx, a.deadline)
	defer cancel()
	err := st.Apply(limited, c)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return requestErrorf(errDeadline, "the batch could not be applied within %v, because other "+
			"writes took that long: nothing was changed; try again later", a.deadline)
	}
	return err
}
