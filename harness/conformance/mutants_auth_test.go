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
		{"open-reads", "documents can be read without a token", as(route("GET /documents/read"), "", admin),
			[]string{"auth-read-401"},
			[]string{"auth-code", "auth-tenant-header"}},
		{"auth-plain", "a request without a token gets plain text", after(func(r *http.Request) bool {
			return everywhere(r) && notEventStream(r) && r.Header.Get("Authorization") == ""
		}, func(_ *http.Request, a *captured) {
			if a.Status == 401 {
				a.SetText("who are you?")
			}
		}), []string{"auth-problem", "auth-code"}, nil},
		{"open-events", "the change stream can be opened without a token", as(route("GET /events"), "", admin),
			[]string{"auth-events-401"}, nil},
		{"open-batch", "a batch is accepted without a token", as(route("POST /documents/batch-ops"), "", admin),
			[]string{"auth-batch-401"}, nil},
		{"readers-write", "a read-only token may append", as(route("POST /documents/append"), reader, admin),
			[]string{"auth-readonly-append-403"}, nil},
		{"readers-delete", "a read-only token may delete", as(route("DELETE /documents"), reader, admin),
			[]string{"auth-readonly-delete-403"}, nil},
		{"readers-shut-out", "a read-only token may not list", as(route("GET /documents"), reader, ""),
			[]string{"auth-readonly-listing-200"}, nil},
		{"tenants-read", "a token of another tenant may read", as(route("GET /documents/read"), other, admin),
			[]string{"auth-tenant-read-403"}, []string{"auth-tenant-*"}},
		{"tenants-watch", "a token of another tenant may open the change stream",
			as(route("GET /events"), other, admin), []string{"auth-tenant-events-403"}, nil},
		{"tenants-search", "a token of another tenant may search", as(route("POST /search"), other, admin),
			[]string{"auth-tenant-search-403"}, nil},
		{"tenants-404", "a token of another tenant is rejected with 404", after(func(r *http.Request) bool {
			return everywhere(r) && notEventStream(r) && r.Header.Get("Authorization") == other
		}, changeStatus(403, 404)), []string{"auth-tenant-read-403", "auth-tenant-put-403"}, []string{"auth-tenant-*"}},
		{"tenants-400", "a token of another tenant is rejected with 400", after(func(r *http.Request) bool {
			return everywhere(r) && notEventStream(r) && r.Header.Get("Authorization") == other
		}, changeStatus(403, 400)), []string{"auth-tenant-ask-403"}, []string{"auth-tenant-*"}},
		{"tenant-header-trusted", "X-Tenant-Id selects the tenant",
			before(withHeader("X-Tenant-Id"), func(r *http.Request) {
				if r.Header.Get("X-Tenant-Id") == "default" {
					r.Header.Set("Authorization", admin)
				}
			}), []string{"auth-tenant-header-403", "auth-tenant-header"}, nil},
		{"token-by-prefix", "a prefix of a token is accepted", before(everywhere, func(r *http.Request) {
			if h := r.Header.Get("Authorization"); h != "" && len(h) > 10 && strings.HasPrefix(admin, h) {
				r.Header.Set("Authorization", admin)
			}
		}), []string{"auth-token-prefix"}, nil},
		{"basic-accepted", "Basic credentials are accepted", before(everywhere, func(r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") {
				r.Header.Set("Authorization", admin)
			}
		}), []string{"auth-malformed-basic-401"}, nil},
		{"malformed-400", "a malformed Authorization header is rejected with 400", after(func(r *http.Request) bool {
			h := r.Header.Get("Authorization")
			return everywhere(r) && notEventStream(r) && h != "" && !strings.HasPrefix(h, "Bearer evk")
		}, changeStatus(401, 400)), []string{"auth-malformed-basic-401", "auth-malformed-word-401"},
			[]string{"auth-malformed-*"}},
	}
}
