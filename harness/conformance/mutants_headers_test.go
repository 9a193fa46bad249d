package conformance

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
)

// keyAndURL identifies requests with the same Idempotency-Key.
func keyAndURL(r *http.Request) string {
	return r.Method + r.URL.String() + r.Header.Get("Idempotency-Key")
}

func and(a, b func(*http.Request) bool) func(*http.Request) bool {
	return func(r *http.Request) bool { return a(r) && b(r) }
}

func headerMutants() []mutant {
	header := func(match func(*http.Request) bool, name, value string) wrapper {
		return after(match, func(_ *http.Request, a *captured) {
			if value == "" {
				a.Header().Del(name)
				return
			}
			a.Header().Set(name, value)
		})
	}
	read, put := route("GET /documents/read"), route("PUT /documents")
	return []mutant{
		{"read-storable", "the response to a read has no Cache-Control: no-store", header(read, "Cache-Control", ""),
			[]string{"headers-read-no-store"}, nil},
		{"listing-cacheable", "a listing may be cached for a minute",
			header(route("GET /documents"), "Cache-Control", "max-age=60"), []string{"headers-listing-no-store"},
			nil},
		{"stat-storable", "the response to stat has no Cache-Control: no-store",
			header(route("GET /documents/stat"), "Cache-Control", ""), []string{"headers-stat-no-store"}, nil},
		{"head-storable", "the response to HEAD has no Cache-Control: no-store",
			header(route("HEAD /documents"), "Cache-Control", ""), []string{"headers-head-no-store"}, nil},
		{"put-etag", "the response to PUT has an ETag", header(put, "ETag", `"1"`), []string{"headers-put-no-etag"},
			nil},
		{"batch-etag", "the response to a batch has an ETag", header(route("POST /documents/batch-ops"), "ETag", `"1"`),
			[]string{"headers-batch-no-etag"}, nil},
		{"append-cache-control", "the response to append has Cache-Control",
			header(route("POST /documents/append"), "Cache-Control", "no-store"),
			[]string{"headers-append-no-cache-control"}, nil},
		{"etag-weak", "reads return a weak ETag", header(read, "ETag", `W/"1"`), []string{"headers-etag-strong"},
			[]string{"headers-etag-changes"}},
		{"etag-constant", "reads return the same ETag for every content", header(read, "ETag", `"1"`),
			[]string{"headers-etag-changes"}, nil},
		{"not-modified", "a read with If-None-Match returns 304",
			replace(and(read, withHeader("If-None-Match")),
				func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
					w.WriteHeader(304)
				}), []string{"headers-read-if-none-match", "headers-read-if-none-match-any"}, nil},
		{"precondition", "a PUT with If-Match returns 412", replace(and(put, withHeader("If-Match")), reject(412)),
			[]string{"headers-put-if-match"}, nil},
		{"create-only", "a PUT with If-None-Match: * returns 412",
			replace(and(put, withHeader("If-None-Match")), reject(412)), []string{"headers-put-if-none-match"}, nil},
		{"idempotency-refused", "requests with Idempotency-Key are rejected",
			replace(withHeader("Idempotency-Key"), reject(400)),
			[]string{"headers-put-idempotency-key", "headers-append-idempotency-key", "headers-batch-idempotency-key"},
			[]string{"headers-*idempotency-key*"}},
		{"idempotency-kept", "a repeated Idempotency-Key returns the first response again",
			replayFirst(withHeader("Idempotency-Key"), keyAndURL, anyResponse),
			[]string{"headers-idempotency-key-append", "headers-idempotency-key-put"},
			[]string{"headers-*idempotency-key*"}},
		{"tenant-refused", "requests with X-Tenant-Id are rejected", replace(withHeader("X-Tenant-Id"), reject(400)),
			[]string{"headers-read-tenant", "headers-put-tenant", "headers-listing-tenant"},
			[]string{"headers-*-tenant", "auth-tenant-header*"}},
		{"workspace-refused", "requests with X-Workspace-Id are rejected",
			replace(withHeader("X-Workspace-Id"), reject(403)), []string{"headers-batch-workspace"},
			[]string{"headers-*-workspace"}},
		{"accept-strict", "a read with Accept: application/octet-stream is rejected",
			replace(and(read, func(r *http.Request) bool {
				return r.Header.Get("Accept") == "application/octet-stream"
			}), reject(406)), []string{"headers-accept-octets"}, nil},
	}
}

// respond sends a response and has no other effect.
func respond(status int, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // dropped if the status allows no body
	}
}

// The headers that a daemon must ignore, by the names that they have in the ids of checks.
var (
	ignoredReadHeaders = map[string]string{
		"tenant": "X-Tenant-Id", "workspace": "X-Workspace-Id", "if-match": "If-Match",
		"if-none-match": "If-None-Match",
	}
	ignoredWriteHeaders = map[string]string{
		"tenant": "X-Tenant-Id", "workspace": "X-Workspace-Id", "if-match": "If-Match",
		"if-none-match":   "If-None-Match",
		"idempotency-key": "Idempotency-Key",
	}
)

// ignoredHeaderMutants acknowledge a request with a header that must be ignored, but do not apply a
// write, or return an empty response to a read.
func ignoredHeaderMutants() []mutant {
	var list []mutant
	add := func(headers map[string]string, defect, op, match string,
		serve func(http.ResponseWriter, *http.Request, http.Handler)) {
		for _, id := range slices.Sorted(maps.Keys(headers)) {
			list = append(list, mutant{
				op + "-" + id + "-obeyed", fmt.Sprintf(defect, headers[id]),
				replace(and(route(match), withHeader(headers[id])), serve),
				[]string{"headers-" + op + "-" + id},
				[]string{"headers-" + op + "-*", "headers-idempotency-key-*", "auth-tenant-header*"},
			})
		}
	}
	add(ignoredWriteHeaders, "PUT with %s writes nothing", "put", "PUT /documents", respond(204, ""))
	add(ignoredWriteHeaders, "append with %s adds nothing", "append", "POST /documents/append", respond(204, ""))
	add(ignoredWriteHeaders, "DELETE with %s removes nothing", "delete", "DELETE /documents", respond(204, ""))
	add(ignoredWriteHeaders, "rename with %s renames nothing", "rename", "POST /documents/rename", respond(204, ""))
	add(ignoredWriteHeaders, "a batch with %s changes nothing", "batch", "POST /documents/batch-ops",
		respond(200, `{"committed":1}`))
	add(ignoredReadHeaders, "a read with %s returns an empty body", "read", "GET /documents/read", respond(200, ""))
	add(ignoredReadHeaders, "HEAD with %s returns 200 for every path", "head", "HEAD /documents", respond(200, ""))
	add(ignoredReadHeaders, "stat with %s returns an empty object", "stat", "GET /documents/stat", respond(200, "{}"))
	add(ignoredReadHeaders, "a listing with %s is empty", "listing", "GET /documents", respond(200, `{"items":[]}`))
	return list
}
