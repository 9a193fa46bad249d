package httpapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// scope is a permission that a key has or lacks.
type scope string

const (
	scopeOpen   scope = "open" // of routes that need no key; no key can have it
	scopeKey    scope = "key"  // of routes for every key; no key can have it
	scopeRead   scope = "documents:read"
	scopeWrite  scope = "documents:write"
	scopeSearch scope = "search"
	scopeAsk    scope = "ask"
	// scopeAdmin is for operators of the daemon: it permits deleting brains, reading metrics, and
	// using brains that no tenant owns.
	scopeAdmin scope = "admin"
)

// roles are names for sets of scopes.
var roles = map[string][]scope{
	"reader": {scopeRead, scopeSearch, scopeAsk},
	"writer": {scopeRead, scopeSearch, scopeAsk, scopeWrite},
	"admin":  {scopeRead, scopeSearch, scopeAsk, scopeWrite, scopeAdmin},
}

// Roles returns the roles that a key may have, sorted.
func Roles() []string { return slices.Sorted(maps.Keys(roles)) }

// Scopes returns the scopes that a key may have, sorted.
func Scopes() []string {
	var all []string
	for _, s := range roles["admin"] {
		all = append(all, string(s))
	}
	slices.Sort(all)
	return all
}

// authorize checks that the request's key has the scope and may send another request. Without keys
// every request is authorized (spec 5.5).
func (a *API) authorize(w http.ResponseWriter, r *http.Request, need scope) error {
	if a.keys == nil || need == scopeOpen {
		return nil
	}
	if c := actorOf(r); c != nil { // has been admitted with the request that it acts in
		requestOf(r).caller = c
		return c.check(need)
	}
	now := time.Now()
	c, err := a.keys.authenticate(r.Header, now)
	if err != nil {
		switch {
		case errors.Is(err, errKeyEnded):
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		case errors.Is(err, errUnauthorized):
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		return err
	}
	requestOf(r).caller = c
	c.use(now)
	if err := c.admit(w.Header(), now); err != nil {
		return err
	}
	return c.check(need)
}

// check reports whether the key has a scope.
func (c *caller) check(need scope) error {
	if need != scopeKey && !c.grants[need] {
		return requestErrorf(errForbidden, "key %s lacks the scope %s", c.Name, need)
	}
	return nil
}

// serveBrain serves a route of a brain, which it looks up once.
func (a *API) serveBrain(w http.ResponseWriter, r *http.Request, rt route) error {
	state, id := requestOf(r), r.PathValue("id")
	state.repeatable = a.brains.Shared() && rt.repeatable()
	how := fresh
	if state.repeatable {
		how = cached
	}
	h, err := a.findBrain(r.Context(), state.caller, id, how)
	if err != nil {
		return err
	}
	err = a.serveHandle(w, r, rt, h)
	if isGone(h, err) && state.repeatable && state.response.status == 0 {
		// Another replica has deleted the brain. Its name may now belong to a new one.
		if h, err = a.findBrain(r.Context(), state.caller, id, fresh); err != nil {
			return err
		}
		err = a.serveHandle(w, r, rt, h)
	}
	if isGone(h, err) {
		return state.caller.maskBrain(id, h.Err())
	}
	return err
}

// serveHandle serves a route of the brain.
func (a *API) serveHandle(w http.ResponseWriter, r *http.Request, rt route, h brain.Handle) error {
	defer h.Acquire()()
	requestOf(r).brain = h
	if rt.path() != brainPath { // which does not need the store
		a.memory.Resume(h)
	}
	var err error
	if rt.needsStore() {
		// Handlers ask for it again, which takes no time while the brain is acquired.
		_, err = a.store(r)
	}
	if err == nil {
		err = rt.serve(a, w, r)
	}
	if errors.Is(err, store.ErrGone) {
		h.Gone()
	}
	return err
}

// isGone reports whether err is due to the end of the brain.
func isGone(h brain.Handle, err error) bool {
	return h.Err() != nil &&
		(errors.Is(err, brain.ErrNotFound) || errors.Is(err, store.ErrReadOnly) || errors.Is(err, store.ErrGone))
}

// lookup is how findBrain looks a brain up if other replicas use the same brains.
type lookup int

const (
	// fresh asks the database.
	fresh lookup = iota
	// cached asks the database only about names that are not known here. A known name may be
	// outdated; the operation on the brain then notices.
	cached
)

// findBrain returns the brain that the caller calls name: the one with this id, if the caller may
// use it, else the one of the caller's tenant with this slug. A brain that the caller may not use
// makes no difference, so the response does not reveal it.
func (a *API) findBrain(ctx context.Context, c *caller, name string, how lookup) (brain.Handle, error) {
	tenant := ""
	if c != nil {
		tenant = c.Tenant
	}
	if how == cached && a.brains.Shared() {
		// Only the tenant's own brains: an unknown new one would take precedence over any other
		// brain.
		if h, err := a.findOwn(c, tenant, name); !errors.Is(err, brain.ErrNotFound) {
			return h, c.maskBrain(name, err)
		}
	}
	if err := a.brains.Refresh(ctx, tenant, name); err != nil {
		return brain.Handle{}, err
	}
	h, err := a.findID(c, name)
	if !errors.Is(err, brain.ErrNotFound) {
		return h, c.maskBrain(name, err)
	}
	h, err = a.brains.FindSlug(tenant, name)
	if err == nil && !c.mayUse(h) {
		err = brain.ErrNotFound
	}
	return h, c.maskBrain(name, err)
}

// findID returns the brain with the id that the caller, which may be nil, may use: a brain of the
// caller's tenant, or else of no tenant. It is brain.ErrNotFound if there is none.
func (a *API) findID(c *caller, id string) (brain.Handle, error) {
	if c == nil {
		return a.brains.Find(id)
	}
	h, err := a.findOwn(c, c.Tenant, id)
	if errors.Is(err, brain.ErrNotFound) {
		h, err = a.findOwn(c, "", id)
	}
	return h, err
}

// findOwn returns the brain of an owner with the id, or brain.ErrNotFound if the caller may not use
// it, or may not know that it is damaged.
func (a *API) findOwn(c *caller, owner, id string) (brain.Handle, error) {
	h, err := a.brains.FindOf(owner, id)
	if err == nil && !c.mayUse(h) || isUnusable(err) && !c.mayKnow(owner, id) {
		err = brain.ErrNotFound
	}
	return h, err
}

// mayKnow reports whether the caller, which may be nil, may know that a brain is damaged. The owner
// is empty if it is unknown.
func (c *caller) mayKnow(owner, id string) bool {
	return c == nil || c.owns(id, owner) || owner == "" && slices.Contains(c.Brains, id)
}

func isUnusable(err error) bool { return isA[*store.UnusableError](err) }

// mayUse reports whether the caller, which may be nil, may use a brain.
func (c *caller) mayUse(h brain.Handle) bool {
	return c == nil || c.owns(h.Brain().ID, h.Tenant())
}

// maskBrain replaces the error of a missing brain by the error for other tenants' brains, so that a
// key cannot find out which brains exist. The caller may be nil.
func (c *caller) maskBrain(id string, err error) error {
	if c == nil || err == nil || errors.Is(err, brain.ErrClosed) || isUnusable(err) {
		return err
	}
	return requestErrorf(errForbidden,
		"key %s may not use brain %q: the brain is missing, damaged, another tenant's, or not on the key's list",
		c.Name, id)
}

// bearer is the only accepted form of an Authorization header (RFC 6750, section 2.1).
var bearer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:bearer) +([A-Za-z0-9._~+/-]+=*)$`)
})

// authenticate returns the key of a request. A missing or malformed header is errUnauthorized, an
// unknown token errForbidden (spec 7.1), and the token of an expired or revoked key errKeyEnded.
func (k *Keys) authenticate(h http.Header, now time.Time) (*caller, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return nil, requestErrorf(errUnauthorized, "send the header Authorization: Bearer TOKEN")
	}
	m := bearer().FindStringSubmatch(values[0])
	if m == nil || len(values) > 1 {
		return nil, requestErrorf(errUnauthorized, "the Authorization header is not one Bearer token")
	}
	c := k.find(m[1])
	if c == nil {
		return nil, requestErrorf(errForbidden, "no key has this token")
	}
	switch {
	case !c.Revoked.IsZero():
		return nil, requestErrorf(errKeyEnded, "key %s was revoked at %v", c.Name, c.Revoked)
	case c.Expired(now):
		return nil, requestErrorf(errKeyEnded, "key %s expired at %v: ask for a new one", c.Name, c.Expires)
	}
	return c, nil
}

// whenEnded calls f once the key is changed, revoked or expired. The caller of a request without
// keys is nil.
func (c *caller) whenEnded(f func()) (stop func()) {
	if c == nil {
		return func() {}
	}
	ctx, cancel := c.inForce, context.CancelFunc(func() {})
	if !c.Expires.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, c.Expires.Time)
	}
	unlink := context.AfterFunc(ctx, f)
	return func() {
		unlink()
		cancel()
	}
}

// owns reports whether the key may use a brain of the tenant owner. A brain without an owner was
// created while the daemon ran without keys.
func (c *caller) owns(id, owner string) bool {
	if owner == "" {
		return c.grants[scopeAdmin] && slices.Contains(c.Brains, AllBrains)
	}
	return owner == c.Tenant && c.lists(id)
}

// lists reports whether the key's list of brains includes id.
func (c *caller) lists(id string) bool {
	return slices.Contains(c.Brains, AllBrains) || slices.Contains(c.Brains, id)
}

// checkNewBrain rejects an id or a slug that the key may not give to a brain. A missing id is
// the slug, and a missing slug is the id. Only a key for all brains may leave out both: the id
// that the name gives is found later. A slug that is not on the key's list would tell whether
// another brain has it, and keep others from having it.
func (c *caller) checkNewBrain(r protocol.CreateBrain) error {
	switch id := cmp.Or(r.ID, r.Slug); {
	case c.lists(id):
	case id == "":
		return requestErrorf(errForbidden, "key %s may create only brains on its list: give one of %.200s as the id or the slug",
			c.Name, strings.Join(c.Brains, ", "))
	case r.ID != "":
		return requestErrorf(errForbidden, "key %s may not create a brain with the id %q", c.Name, r.ID)
	}
	if r.Slug != "" && !c.lists(r.Slug) {
		return requestErrorf(errForbidden, "key %s may not create a brain with the slug %q", c.Name, r.Slug)
	}
	return nil
}

// selection returns the brains that the caller, which may be nil, may use.
func selection(c *caller) (sel brain.Selection) {
	if c == nil {
		return sel
	}
	sel.Tenants = []string{c.Tenant}
	if !c.lists(AllBrains) {
		sel.IDs = append([]string{}, c.Brains...)
	} else if c.grants[scopeAdmin] {
		sel.Tenants = append(sel.Tenants, "")
	}
	return sel
}

// visible returns the brains that the caller may use.
func visible(c *caller, all []brain.Record) []protocol.Brain {
	list := make([]protocol.Brain, 0, len(all))
	for _, r := range all {
		if c == nil || c.owns(r.Brain.ID, r.Tenant) {
			list = append(list, r.Brain)
		}
	}
	return list
}

// defaultBrain returns the id of the brain of requests that name none, among the brains that the
// caller may use: the configured one, else the oldest. It is empty if there is no such brain.
func (a *API) defaultBrain(ctx context.Context, c *caller) (string, error) {
	if a.defaultName != "" {
		h, err := a.findBrain(ctx, c, a.defaultName, fresh)
		if errors.Is(err, store.ErrUnavailable) {
			return "", err
		}
		if err != nil {
			return "", nil //nolint:nilerr // there is none
		}
		return h.Brain().ID, nil
	}
	oldest, err := a.brains.Oldest(ctx, selection(c))
	if errors.Is(err, brain.ErrNotFound) {
		return "", nil
	}
	return oldest.Brain.ID, err
}
