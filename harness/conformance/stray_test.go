package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	ct "evalctl/harness/conformance/conformancetest"
)

// A request that fails now and then is a finding of its own, and breaks no check. One that always
// fails breaks what it contradicts.
func TestStrayFailures(t *testing.T) {
	t.Parallel()
	isEmptyPut := func(r *http.Request) bool { return route("PUT /documents")(r) && r.ContentLength == 0 }
	creation := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v1/brains" }
	for _, tt := range []struct {
		name   string
		wrap   wrapper
		only   []string
		cause  string   // of the only finding, its beginning
		broken []string // checks
	}{
		{"a write with X-Tenant-Id", ct.FailOnce(and(route("PUT /documents"), withHeader("X-Tenant-Id")), 1, 500), []string{"headers-put-*"},
			"answered 500 to PUT /documents, once in ", nil},
		{"the first write of a check", ct.FailOnce(route("PUT /documents"), 2, 503), []string{"documents-put-*"},
			"answered 503 to PUT /documents, once in ", nil},
		{"a read", ct.FailOnce(route("GET /documents/read"), 5, 500), []string{"documents"}, "answered 500 to GET /documents/read, once in ", nil},
		{"a stream", ct.FailOnce(eventsRoute, 3, 500), []string{"events-c*"}, "answered 500 to GET /events, once in ", nil},
		{"a search", ct.FailOnce(route("POST /search"), 4, 502), []string{"search-u*", "search-finds"}, "answered 502 to POST /search, once in ", nil},
		{"the creation of a brain", ct.FailOnce(creation, 4, 500), []string{"documents-put-*"}, "answered 500 to POST /v1/brains, once in ", nil},
		{"the first creation", ct.FailOnce(creation, 1, 500), []string{"documents-put-*"}, "answered 500 to POST /v1/brains, once in ", nil},
		{"the first deletion", ct.FailOnce(route("DELETE "), 1, 500), []string{"documents-put-*"}, "answered 500 to DELETE /v1/brains/{id}, once in ", nil},
		{"two writes", ct.FailEvery(151, 500), []string{"headers-put-*", "documents-*"}, "answered 500 to ", nil},
		{"every write with X-Tenant-Id", ct.FailingIf(and(route("PUT /documents"), withHeader("X-Tenant-Id")), 500), []string{"headers-put-*"},
			"PUT /documents does not ignore X-Tenant-Id", []string{"headers-put-tenant"}},
		{"every write of nothing", ct.FailingIf(isEmptyPut, 500), []string{"documents-put-*"}, "PUT /documents returned 500",
			[]string{"documents-put-empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), tt.wrap))
			o.Only = tt.only
			r := run(t, o)
			var broken []string
			for _, res := range r.Results {
				if res.Verdict == Broken {
					broken = append(broken, res.ID)
				}
				if res.Verdict == NotJudged && res.Reason != ReasonNeed {
					t.Errorf("%s is not judged: %s", res.ID, res.Detail)
				}
			}
			if !slices.Equal(broken, tt.broken) || len(r.BrainsLeft) > 0 {
				t.Errorf("broken %q, left %q: %+v", broken, r.BrainsLeft, r.Findings)
			}
			for _, f := range r.Findings {
				if !strings.HasPrefix(f.Cause, tt.cause) || f.Request == "" || f.Response == "" {
					t.Errorf("finding %+v", f)
				}
			}
			if len(r.Findings) == 0 {
				t.Error("no finding")
			}
		})
	}
}

// A daemon that fails so often that a check never comes to its end is not judged.
func TestFailingOften(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	t.Parallel()
	o := authOptions(serve(t, keys(t), ct.FailOften(5, 500)))
	o.Only, o.Parallel = []string{"headers-put-*", "documents"}, 1
	r := run(t, o)
	often := 0
	for _, res := range r.Results {
		if res.Verdict == Broken {
			t.Errorf("%s is broken: %s", res.ID, res.Detail)
		}
		if res.Reason == ReasonServerError {
			often++
		}
	}
	if often == 0 || len(r.Findings) == 0 {
		t.Errorf("%d not judged, %d findings", often, len(r.Findings))
	}
}
