package conformance

import (
	"net/http"
	"strings"
)

func authMutants() []mutant {
	as := func(match func(*http.Request) bool, from, to string) wrapper {
		return before(match, func(r *http.Request) {
			if r.Header.Get("Authorization") == from {
				r.Header.Set("Authorization", to)
			}
		})
	}
	admin, reader, other := "Bearer "+adminToken, "Bearer "+readerToken, "Bearer "+otherToken
	everywhere := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/brains/") }
	return []mutant{
		{"open-reads", "documents can be read without a token", as(route("GET /documents/read"), "", admin), []string{"auth-read-401", "auth-problem"},
			[]string{"auth-code", "auth-tenant-header"}},
		{"open-events", "the change stream needs no token", as(route("GET /events"), "", admin), []string{"auth-events-401"}, nil},
		{"open-batch", "a batch needs no token", as(route("POST /documents/batch-ops"), "", admin), []string{"auth-batch-401"}, nil},
		{"readers-write", "who may read may append", as(route("POST /documents/append"), reader, admin), []string{"auth-readonly-append-403"}, nil},
		{"readers-delete", "who may read may delete", as(route("DELETE /documents"), reader, admin), []string{"auth-readonly-delete-403"}, nil},
		{"readers-shut-out", "who may only read may not list", as(route("GET /documents"), reader, ""), []string{"auth-readonly-listing-200"}, nil},
		{"tenants-read", "other tenants may read", as(route("GET /documents/read"), other, admin), []string{"auth-tenant-read-403"}, []string{"auth-tenant-*"}},
		{"tenants-watch", "other tenants may watch", as(route("GET /events"), other, admin), []string{"auth-tenant-events-403"}, nil},
		{"tenants-search", "other tenants may search", as(route("POST /search"), other, admin), []string{"auth-tenant-search-403"}, nil},
		{"tenants-404", "to other tenants a brain does not exist", after(func(r *http.Request) bool {
			return everywhere(r) && notEventStream(r) && r.Header.Get("Authorization") == other
		}, changeStatus(403, 404)), []string{"auth-tenant-read-403", "auth-tenant-put-403"}, []string{"auth-tenant-*"}},
		{"tenants-400", "another tenant is a bad request", after(func(r *http.Request) bool {
			return everywhere(r) && notEventStream(r) && r.Header.Get("Authorization") == other
		}, changeStatus(403, 400)), []string{"auth-tenant-ask-403"}, []string{"auth-tenant-*"}},
		{"tenant-header-trusted", "X-Tenant-Id decides the tenant", before(withHeader("X-Tenant-Id"), func(r *http.Request) {
			if r.Header.Get("X-Tenant-Id") == "default" {
				r.Header.Set("Authorization", admin)
			}
		}), []string{"auth-tenant-header-403", "auth-tenant-header"}, nil},
		{"token-by-prefix", "the beginning of a token is enough", before(everywhere, func(r *http.Request) {
			if h := r.Header.Get("Authorization"); h != "" && len(h) > 10 && strings.HasPrefix(admin, h) {
				r.Header.Set("Authorization", admin)
			}
		}), []string{"auth-token-prefix"}, nil},
		{"basic-accepted", "Basic credentials pass", before(everywhere, func(r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
				r.Header.Set("Authorization", admin)
			}
		}), []string{"auth-malformed-basic-401"}, nil},
		{"malformed-400", "an Authorization header that cannot be parsed is 400", after(func(r *http.Request) bool {
			return everywhere(r) && notEventStream(r) && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer evk") && r.Header.Get("Authorization") != ""
		}, changeStatus(401, 400)), []string{"auth-malformed-basic-401", "auth-malformed-word-401"}, []string{"auth-malformed-*"}},
	}
}
