package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

func (a *API) createBrain(w http.ResponseWriter, r *http.Request) error {
	var body protocol.CreateBrain
	if err := decodeBody(w, r, aliases{"brain_id": "id"}, &body); err != nil {
		return err
	}
	tenant := ""
	if c := requestOf(r).caller; c != nil {
		if err := c.checkNewBrain(body); err != nil {
			return err
		}
		tenant = c.Tenant
	}
	b, err := a.brains.Create(r.Context(), tenant, body)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/brains/"+b.ID)
	return writeJSON(w, http.StatusCreated, b)
}

// listBrains lists the brains that the caller may use, or the first of them, and names the default
// one.
func (a *API) listBrains(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, nil)
	if err != nil {
		return err
	}
	limit, err := q.number("limit")
	if err != nil {
		return err
	}
	if q["limit"] != "" && limit < 1 {
		return requestErrorf(errInvalid, "limit is %d, it must be at least 1", limit)
	}
	c := requestOf(r).caller
	sel := selection(c)
	sel.Limit = limit
	brains, err := a.brains.List(r.Context(), sel)
	if err != nil {
		return err
	}
	preferred, err := a.defaultBrain(r.Context(), c)
	return replyJSON(w, http.StatusOK, protocol.BrainList{Items: visible(c, brains), DefaultBrainID: &preferred}, err)
}

// describeTimeout is how long the description of a brain waits for its documents, without which
// it is complete but for the files that were skipped.
const describeTimeout = 2 * time.Second

func (a *API) getBrain(w http.ResponseWriter, r *http.Request) error {
	h := brainOf(r)
	b := h.Brain()
	if a.brains.Shared() { // no other programs put files among its documents
		return writeJSON(w, http.StatusOK, b)
	}
	limited, cancel := context.WithTimeout(r.Context(), min(describeTimeout, a.deadline))
	defer cancel()
	skipped, err := h.Skipped(limited)
	if err != nil {
		requestOf(r).err = err // for the log: the brain can be described all the same
	}
	for _, s := range skipped.First {
		b.Skipped = append(b.Skipped, protocol.SkippedFile{Path: s.Path, Reason: s.Reason})
	}
	b.SkippedCount = skipped.Count
	return writeJSON(w, http.StatusOK, b)
}

func (a *API) deleteBrain(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("X-Confirm-Delete") != "yes" {
		return requestErrorf(errUnconfirmed,
			"deleting a brain deletes all its documents: send X-Confirm-Delete: yes")
	}
	h := brainOf(r)
	if err := a.checkRepeat(r.Context(), requestOf(r).caller, r.PathValue("id"), h); err != nil {
		return err
	}
	err := a.brains.Delete(r.Context(), h)
	a.feeds.end(h, errStreamOver) // also after an error, because the store may be closed
	return replyEmpty(w, http.StatusNoContent, err)
}

// checkRepeat returns an error if a repeated DELETE of a brain by name, as after a lost response,
// would delete another one: one of a tenant and one of no tenant may both have the name.
func (a *API) checkRepeat(ctx context.Context, c *caller, name string, h brain.Handle) error {
	isOther := func(id, tenant string) bool { return id != h.Brain().ID || tenant != h.Tenant() }
	sel, tenant := selection(c), ""
	sel.IDs = []string{name}
	if c != nil {
		tenant = c.Tenant
	}
	all, err := a.brains.List(ctx, sel)
	if err != nil {
		return err
	}
	other := slices.ContainsFunc(all, func(r brain.Record) bool {
		return isOther(r.Brain.ID, r.Tenant) && (c == nil || c.owns(r.Brain.ID, r.Tenant))
	})
	if s, err := a.brains.FindSlug(tenant, name); err == nil && c.mayUse(s) {
		other = other || isOther(s.Brain().ID, s.Tenant())
	}
	if !other {
		return nil
	}
	return fmt.Errorf("%w: another brain is called %s too, and a repeated DELETE would delete it: delete the tenant's "+
		"by a key of scope admin that is for this brain only", store.ErrConflict, name)
}
