package conformance

import "net/http"

func brainMutants() []mutant {
	return []mutant{
		{"health-503", "/healthz is 503", instead(func(r *http.Request) bool { return r.URL.Path == "/healthz" }, refuses(503)),
			[]string{"brains-health-200"}, []string{"brains-health-*"}},
		{"health-closed", "/healthz needs a token", instead(func(r *http.Request) bool {
			return r.URL.Path == "/healthz" && r.Header.Get("Authorization") == ""
		}, refuses(401)), []string{"brains-health-open"}, nil},
		{"brain-delete-unconfirmed", "a brain is deleted without confirmation", before(route("DELETE "), func(r *http.Request) {
			r.Header.Set("X-Confirm-Delete", "yes")
		}), []string{"brains-delete-unconfirmed-428"}, nil},
		{"brain-twice", "a brain that exists is made again", after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, status(409, 201)),
			[]string{"brains-create-twice-409"}, nil},
		{"brain-slug-lost", "brains have no slug", after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, func(_ *http.Request, a *answer) {
			a.edit(func(o map[string]any) { delete(o, "slug") })
		}), []string{"brains-create-slug"}, nil},
		{"brain-public", "brains are public by default", after(func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }, func(_ *http.Request, a *answer) {
			a.replace(`"private"`, `"public"`)
		}), []string{"brains-create-private"}, nil},
	}
}
