package httpapi

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
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
// and the brain. Without keys, everybody may use everything (spec 5.5).
func (a *API) guard(pattern string, serve endpoint) endpoint {
	need := needs[pattern]
	if a.keys == nil || need == scopeOpen {
		return serve
	}
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
		if id := r.PathValue("id"); id != "" {
			if err := a.checkBrain(c, id); err != nil {
				return err
			}
		}
		return serve(w, r)
	}
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

// checkBrain refuses brains that the key may not use. A brain that does not
// exist is refused in the same words, so that nobody learns what other
// tenants have.
func (a *API) checkBrain(c *caller, id string) error {
	owner, err := a.brains.Tenant(id)
	if errors.Is(err, brain.ErrClosed) {
		return err
	}
	if err != nil || !c.owns(id, owner) {
		return refuse(errForbidden, "key %s may use no brain %q: it is missing, another tenant's, or not on the key's list", c.Name, id)
	}
	return nil
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
	owner, err := a.brains.Tenant(id)
	if !c.lists(id) || err == nil && !c.owns(id, owner) {
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
		return a.checkBrain(c, b.ID) != nil
	})
}
