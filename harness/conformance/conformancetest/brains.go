package conformancetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// Creation describes how a daemon creates brains with POST /v1/brains.
type Creation struct {
	// Keys are the keys that a request must have, exactly. Other requests are rejected with
	// Rejects.
	Keys    []string
	Rejects int
	// Status and Body are the response, given the brain's id and name.
	Status int
	Body   func(id, name string) any
	// AssignsID is set if the id differs from the name or id in the request.
	AssignsID bool
}

// Create creates brains in a different way from the reference daemon.
func Create(c Creation) Wrapper {
	return Instead(isCreation, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		o := bodyObject(r)
		if keys := slices.Sorted(maps.Keys(o)); c.Keys != nil && !slices.Equal(keys, c.Keys) {
			problem(w, c.Rejects)
			return
		}
		name := ""
		for _, key := range []string{"name", "brainId", "brain_id", "id", "slug"} {
			if s, ok := o[key].(string); ok && name == "" {
				name = s
			}
		}
		id := name
		if c.AssignsID {
			id = "assigned-" + name
		}
		body, _ := json.Marshal(map[string]any{"id": id, "name": name}) // cannot fail: strings
		setBody(r, body)
		a := Serve(next, r)
		if a.Status/100 == 2 {
			a.Status = c.Status
			a.SetJSON(c.Body(id, name))
		}
		a.Send(w, r)
	})
}

// ImplicitBrains answers POST /v1/brains with an error status. A brain exists once something is
// written to it.
func ImplicitBrains(status int) Wrapper {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		made := map[string]bool{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isCreation(r) {
				problem(w, status)
				return
			}
			id, below, ok := brainPath(r)
			isWrite := r.Method == http.MethodPut || r.Method == http.MethodPost
			mu.Lock()
			if ok && below != "" && isWrite && !made[id] {
				create := r.Clone(r.Context())
				create.Method, create.URL.Path, create.URL.RawQuery = http.MethodPost, "/v1/brains", ""
				create.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": r.Header["Authorization"]}
				body, _ := json.Marshal(map[string]any{"id": id, "name": id}) // cannot fail: strings
				setBody(create, body)
				made[id] = Serve(next, create).Status/100 == 2
			}
			if ok && below == "" && r.Method == http.MethodDelete {
				delete(made, id)
			}
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	}
}

// NoDeletion answers the deletion of a brain with an error.
func NoDeletion(status int) Wrapper { return Failing("DELETE ", status) }
