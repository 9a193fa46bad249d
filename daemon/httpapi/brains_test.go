package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

// startBrains serves brains that are given as tenant, id and slug, in the order of their creation.
// The tenant "-" means none.
func startBrains(t testing.TB, keys *Keys, brains ...string) *server {
	t.Helper()
	catalog := new(brain.MemoryCatalog)
	for i, b := range brains {
		field := strings.Fields(b)
		_, err := catalog.Add(t.Context(), brain.Record{
			Tenant: strings.TrimPrefix(field[0], "-"),
			Brain: protocol.Brain{
				ID: field[1], Slug: field[2], Name: b, Visibility: protocol.VisibilityPublic,
				CreatedAt: epoch.Add(time.Duration(i) * time.Minute),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return serve(t, keys, brain.Config{
		Catalog:   catalog,
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(nil), nil },
	}, fakeReader())
}

// someBrains are of two tenants and of none. Some of their ids are slugs of others.
var someBrains = []string{
	"globex theirs notes",
	"acme second work",
	"- old eval",
	"acme eval notes",
	"globex secret private",
	"- work before",
}

// who returns the headers of a key, none for "".
func who(key string) []string {
	if key == "" {
		return nil
	}
	return as(key)
}

// TestBrainsByIDOrSlug: an id that the caller may use comes first, then a slug of its tenant.
func TestBrainsByIDOrSlug(t *testing.T) {
	keyed := startBrains(t, keysOf(t, testKeys), someBrains...)
	open := startBrains(t, nil, someBrains...)
	for key, finds := range map[string]string{ // names and the ids that they find
		"reader": "second=second work=second eval=eval notes=eval",
		"listed": "eval=eval notes=eval", // second is not on its list
		"admin":  "second=second work=work eval=eval notes=eval old=old",
		"other":  "theirs=theirs notes=theirs secret=secret private=secret old=old work=work",
		// Without keys every id, and the slugs of brains without a tenant.
		"": "theirs=theirs second=second old=old eval=eval secret=secret work=work before=work",
	} {
		s, refused := keyed, http.StatusForbidden
		if key == "" {
			s, refused = open, http.StatusNotFound
		}
		found := map[string]string{}
		for _, pair := range strings.Fields(finds) {
			name, id, _ := strings.Cut(pair, "=")
			found[name] = id
		}
		for _, name := range []string{
			"theirs", "second", "old", "eval", "secret", "work", "before", "notes", "private", "nobody",
		} {
			want := http.StatusOK
			if found[name] == "" {
				want = refused
			}
			body := s.expect(t, want, "GET", "/v1/brains/"+name, "", who(key)...)
			if b := decoded[protocol.Brain](t, body); b.ID != found[name] {
				t.Errorf("%q asks for %s: got %s, want %q", key, name, body, found[name])
			}
			if got := s.status(t, "GET", "/v1/brains/"+name+"/documents?dir=", "", who(key)...); got != want {
				t.Errorf("%q lists %s: got %d, want %d", key, name, got, want)
			}
		}
	}
}

// TestEveryRouteAcceptsASlug reaches the same brain by id and by slug.
func TestEveryRouteAcceptsASlug(t *testing.T) {
	s := startBrains(t, nil, "- id-1 slug-1")
	for _, rt := range routes {
		if !rt.ofBrain() {
			continue
		}
		target := strings.ReplaceAll(rt.path(), "{id}", "slug-1")
		if rt.operation == "watchBrain" {
			resp := s.do(t, rt.method(), target, "")
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: got %d", rt.pattern, resp.StatusCode)
			}
			continue
		}
		resp := s.do(t, rt.method(), target, "")
		var p protocol.Problem
		_ = json.NewDecoder(resp.Body).Decode(&p) // some bodies are no problems
		resp.Body.Close()
		if p.Title == "No such brain" {
			t.Errorf("%s: got %+v", rt.pattern, p)
		}
	}
	s.expect(t, 204, "DELETE", "/v1/brains/slug-1", "", "X-Confirm-Delete", "yes")
	s.expect(t, 404, "GET", "/v1/brains/id-1", "")
}

func TestDefaultBrain(t *testing.T) {
	keyed := startBrains(t, keysOf(t, testKeys), someBrains...)
	open := startBrains(t, nil, someBrains...)
	for _, tt := range []struct{ configured, key, want string }{
		{"", "", "theirs"}, // the oldest, not the first of the list
		{"", "reader", "second"},
		{"", "listed", "eval"},
		{"", "admin", "second"},
		{"", "other", "theirs"},
		{"eval", "reader", "eval"},
		{"eval", "other", ""}, // another tenant's, and it falls back to no other brain
		{"notes", "reader", "eval"},
		{"notes", "other", "theirs"},
		{"notes", "", ""},
		{"second", "listed", ""},
		{"old", "reader", ""},
		{"old", "admin", "old"},
		{"missing", "", ""},
		{"Not a name", "reader", ""},
	} {
		s := keyed
		if tt.key == "" {
			s = open
		}
		s.api.defaultName = tt.configured
		list := decoded[protocol.BrainList](t, s.expect(t, 200, "GET", "/v1/brains", "", who(tt.key)...))
		if got := *list.DefaultBrainID; got != tt.want {
			t.Errorf("default brain %q for %q: got %q, want %q", tt.configured, tt.key, got, tt.want)
		}
	}
}

// TestDefaultBrainFollowsDeletion: the next oldest brain becomes the default, then none.
func TestDefaultBrainFollowsDeletion(t *testing.T) {
	s := startBrains(t, nil, "- b b", "- a a", "- c c")
	for _, want := range []string{"b", "a", "c", ""} {
		list := decoded[protocol.BrainList](t, s.expect(t, 200, "GET", "/v1/brains", ""))
		if got := *list.DefaultBrainID; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if want != "" {
			s.expect(t, 204, "DELETE", "/v1/brains/"+want, "", "X-Confirm-Delete", "yes")
		}
	}
}

func TestListBrainsLimit(t *testing.T) {
	s := startFake(t)
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"zzz"}`)
	for limit, want := range map[string]int{"": 2, "?limit=1": 1, "?limit=2": 2, "?limit=9": 2} {
		body := s.expect(t, 200, "GET", "/v1/brains"+limit, "")
		list := decoded[protocol.BrainList](t, body)
		if len(list.Items) != want || *list.DefaultBrainID != "eval" {
			t.Errorf("%s: got %s", limit, body)
		}
	}
	for _, limit := range []string{"0", "-1", "x"} {
		s.expect(t, 400, "GET", "/v1/brains?limit="+limit, "")
	}
}
