package conformance

import "net/http"

func brainMutants() []mutant {
	list := func(r *http.Request) bool { return r.URL.Path == "/v1/brains" && r.Method == http.MethodGet }
	other := func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+otherToken }
	asAdmin := func(match func(*http.Request) bool) wrapper {
		return before(and(match, other), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+adminToken) })
	}
	return []mutant{
		{"health-503", "/healthz returns 503",
			replace(func(r *http.Request) bool { return r.URL.Path == "/healthz" }, reject(503)),
			[]string{"brains-health-200"}, nil},
		{"brain-tenant-get", "a token of another tenant may get a brain", asAdmin(route("GET ")),
			[]string{"brains-tenant-get-403"}, nil},
		{"brain-tenant-delete", "a token of another tenant may delete a brain", asAdmin(route("DELETE ")),
			[]string{"brains-tenant-delete-403"}, nil},
		{"brain-tenant-list", "a token of another tenant lists all brains", asAdmin(list),
			[]string{"brains-tenant-unlisted"}, nil},
	}
}
