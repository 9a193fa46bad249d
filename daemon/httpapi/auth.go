package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// scope is a permission that a key has or lacks.
type scope string

const (
	scopeOpen   scope = "open" // needs no key
	scopeRead   scope = "documents:read"
	scopeWrite  scope = "documents:write"
	scopeSearch scope = "search"
	scopeAsk    scope = "ask"
	// scopeAdmin is for who operates the daemon: it deletes brains, reads
	// metrics, and reaches brains that no tenant owns.
	scopeAdmin scope = "admin"
)

// roles are names for sets of scopes.
var roles = map[string][]scope{
	"reader": {scopeRead, scopeSearch, scopeAsk},
	"writer": {scopeRead, scopeSearch, scopeAsk, scopeWrite},
	"admin":  {scopeRead, scopeSearch, scopeAsk, scopeWrite, scopeAdmin},
}

// Roles are the roles that a key may have, sorted.
func Roles() []string { return slices.Sorted(maps.Keys(roles)) }

// Scopes are the scopes that a key may have, sorted.
func Scopes() []string {
	var all []string
	for _, s := range roles["admin"] {
		all = append(all, string(s))
	}
	slices.Sort(all)
	return all
}

// needs has the scope of every route. A route that is missing here is closed
// to every key.
var needs = map[string]scope{
	"GET /healthz":      scopeOpen,
	"GET /openapi.json": scopeOpen,
	"GET /metrics":      scopeAdmin,

	"POST /v1/brains":        scopeWrite,
	"GET /v1/brains":         scopeRead,
	"GET /v1/brains/{id}":    scopeRead,
	"DELETE /v1/brains/{id}": scopeAdmin,

	"GET /v1/brains/{id}/documents/read":       scopeRead,
	"GET /v1/brains/{id}/documents/stat":       scopeRead,
	"HEAD /v1/brains/{id}/documents":           scopeRead,
	"GET /v1/brains/{id}/documents":            scopeRead,
	"PUT /v1/brains/{id}/documents":            scopeWrite,
	"DELETE /v1/brains/{id}/documents":         scopeWrite,
	"POST /v1/brains/{id}/documents/append":    scopeWrite,
	"POST /v1/brains/{id}/documents/rename":    scopeWrite,
	"POST /v1/brains/{id}/documents/batch-ops": scopeWrite,
	"GET /v1/brains/{id}/events":               scopeRead,

	"POST /v1/brains/{id}/documents":                 scopeWrite,
	"GET /v1/brains/{id}/documents/{document_id}":    scopeRead,
	"DELETE /v1/brains/{id}/documents/{document_id}": scopeWrite,

	"POST /v1/brains/{id}/search": scopeSearch,
	"GET /v1/brains/{id}/search":  scopeSearch,
	"POST /v1/brains/{id}/ask":    scopeAsk,
}

// guard lets a request through to an endpoint when its key may use the route
// and the brain. Without keys, everybody may use everything (spec 5.5). Answers
// to GET and HEAD must not be kept by caches, refusals included.
func (a *API) guard(pattern string, serve endpoint) endpoint {
	need := needs[pattern]
	if need == scopeOpen {
		return serve
	}
	if strings.Contains(pattern, "{id}") {
		serve = a.withBrain(serve)
	}
	if a.keys != nil {
		serve = a.authorized(need, serve)
	}
	if strings.HasPrefix(pattern, "GET ") || strings.HasPrefix(pattern, "HEAD ") {
		serve = noStore(serve)
	}
	return serve
}

// authorized lets a request through whose key has the scope.
func (a *API) authorized(need scope, serve endpoint) endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := a.keys.authenticate(r.Header)
		if err != nil {
			if errors.Is(err, errUnauthorized) {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			return err
		}
		w.(*recorder).caller = c
		if err := c.admit(w.Header(), time.Now()); err != nil {
			return err
		}
		if !c.grants[need] {
			return refuse(errForbidden, "key %s lacks the scope %s", c.Name, need)
		}
		return serve(w, r)
	}
}

// brainKey is the key of a request's brain.Handle in its context.
type brainKey struct{}

// brainOf is the brain that a request addresses. The caller may use it, and it
// stays the one that he was asked about: by its id another tenant's brain could
// be found, if this one is deleted while the body is on its way.
func brainOf(r *http.Request) brain.Handle {
	return r.Context().Value(brainKey{}).(brain.Handle)
}

// withBrain looks the brain of a request up, once.
func (a *API) withBrain(serve endpoint) endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, id := callerOf(w), r.PathValue("id")
		h, err := a.findBrain(c, id)
		if err != nil {
			return err
		}
		defer h.Acquire()()
		err = serve(w, r.WithContext(context.WithValue(r.Context(), brainKey{}, h)))
		if gone := h.Err(); gone != nil && (errors.Is(err, brain.ErrNotFound) || errors.Is(err, store.ErrReadOnly)) {
			return c.hide(id, gone)
		}
		return err
	}
}

// findBrain refuses brains that the caller may not use.
func (a *API) findBrain(c *caller, id string) (brain.Handle, error) {
	h, err := a.brains.Find(id)
	if err == nil && c != nil && !c.owns(id, h.Tenant()) {
		err = brain.ErrNotFound
	}
	return h, c.hide(id, err)
}

// hide refuses a brain that does not exist in the same words as other tenants',
// so that nobody learns what they have.
func (c *caller) hide(id string, err error) error {
	if c == nil || err == nil || errors.Is(err, brain.ErrClosed) {
		return err
	}
	return refuse(errForbidden, "key %s may use no brain %q: it is missing, another tenant's, or not on the key's list", c.Name, id)
}

// callerOf tells whose request w answers; nil without keys.
func callerOf(w http.ResponseWriter) *caller { return w.(*recorder).caller }

// bearer is the only form of an Authorization header that can be parsed
// (RFC 6750, section 2.1).
var bearer = regexp.MustCompile(`^(?i:bearer) +([A-Za-z0-9._~+/-]+=*)$`)

// authenticate finds the key of a request. A header that is missing or cannot
// be parsed is unauthorized, a token of no key forbidden (spec 7.1).
func (k *Keys) authenticate(h http.Header) (*caller, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return nil, refuse(errUnauthorized, "send the header Authorization: Bearer TOKEN")
	}
	m := bearer.FindStringSubmatch(values[0])
	if m == nil || len(values) > 1 {
		return nil, refuse(errUnauthorized, "the Authorization header is not one Bearer token")
	}
	c := k.find(m[1])
	if c == nil {
		return nil, refuse(errForbidden, "no key has this token")
	}
	return c, nil
}

// owns reports whether the key may use a brain of owner. A brain that nobody
// owns is from a time without keys.
func (c *caller) owns(id, owner string) bool {
	if owner == "" {
		return c.grants[scopeAdmin] && slices.Contains(c.Brains, AllBrains)
	}
	return owner == c.Tenant && c.lists(id)
}

func (c *caller) lists(id string) bool {
	return slices.Contains(c.Brains, AllBrains) || slices.Contains(c.Brains, id)
}

// checkNewBrain refuses an id that the key may not give to a brain. Only a key
// for all brains may leave the id open, as what it becomes is not known yet.
func (a *API) checkNewBrain(c *caller, id string) error {
	owner, taken := a.brains.Owner(id)
	if !c.lists(id) || taken && !c.owns(id, owner) {
		return refuse(errForbidden, "key %s may not create a brain with the id %q", c.Name, id)
	}
	return nil
}

// visible leaves the brains that the caller may use.
func (a *API) visible(c *caller, brains []protocol.Brain) []protocol.Brain {
	if c == nil {
		return brains
	}
	return slices.DeleteFunc(brains, func(b protocol.Brain) bool {
		_, err := a.findBrain(c, b.ID)
		return err != nil
	})
}
