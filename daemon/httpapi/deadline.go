package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"evalctl/daemon/store"
)

// operationTimeout is how long a request may wait until the store of its brain is open, and a batch
// until it is committed. It is less than the 30 s that a client waits (spec 8).
const operationTimeout = 25 * time.Second

// store returns the store of the brain that the request names. Opening a closed store may take
// long.
func (a *API) store(r *http.Request) (*store.Store, error) {
	h := brainOf(r)
	limited, cancel := context.WithTimeout(r.Context(), a.deadline)
	defer cancel()
	st, err := h.Store(limited)
	if isOverdue(r.Context(), err) {
		return nil, requestErrorf(errDeadline, "the documents of brain %s were not opened within %v: "+
			"try again later", h.Brain().ID, a.deadline)
	}
	return st, err
}

// apply commits a batch. A batch rejected because of the deadline has changed nothing. If its
// commit has begun, apply waits for it.
func (a *API) apply(ctx context.Context, st *store.Store, c store.Commit) error {
	limited, cancel := context.WithTimeout(ctx, a.deadline)
	defer cancel()
	err := st.Apply(limited, c)
	if isOverdue(ctx, err) {
		return requestErrorf(errDeadline, "the batch could not be applied within %v, because other "+
			"writes took that long: nothing was changed; try again later", a.deadline)
	}
	return err
}

// isOverdue reports whether an error is due to the deadline that store or apply has added to a
// context. A store that is unavailable has limits of its own, and may not know what was changed.
func isOverdue(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil
}
