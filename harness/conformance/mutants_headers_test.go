package conformance

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
)

func and(a, b func(*http.Request) bool) func(*http.Request) bool {
	return func(r *http.Request) bool { return a(r) && b(r) }
}

func headerMutants() []mutant {
	header := func(match func(*http.Request) bool, name, value string) wrapper {
		return after(match, func(_ *http.Request, a *captured) {
			if value == "" {
				a.header.Del(name)
				return
			}
			a.header.Set(name, value)
		})
	}
	read, put := route("GET /documents/read"), route("PUT /documents")
	return []mutant{
		{"read-storable", "reads lack Cache-Control: no-store", header(read, "Cache-Control", ""), []string{"headers-read-no-store"}, []string{"headers-read-missing-no-store"}},
		{"listing-cacheable", "listings may be cached for a minute", header(route("GET /documents"), "Cache-Control", "max-age=60"), []string{"headers-listing-no-store"}, []string{"records-list-no-store"}},
		{"stat-storable", "stat lacks Cache-Control: no-store", header(route("GET /documents/stat"), "Cache-Control", ""), []string{"headers-stat-no-store"}, nil},
		{"head-storable", "HEAD lacks Cache-Control: no-store", header(route("HEAD /documents"), "Cache-Control", ""), []string{"headers-head-no-store"}, nil},
		{"put-etag", "PUT answers with an ETag", header(put, "ETag", `"1"`), []string{"headers-put-no-etag"}, nil},
		{"batch-etag", "a batch answers with an ETag", header(route("POST /documents/batch-ops"), "ETag", `"1"`), []string{"headers-batch-no-etag"}, nil},
		{"append-cache-control", "append answers with Cache-Control", header(route("POST /documents/append"), "Cache-Control", "no-store"), []string{"headers-append-no-cache-control"}, nil},
		{"etag-weak", "reads have a weak ETag", header(read, "ETag", `W/"1"`), []string{"headers-etag-strong"}, []string{"headers-etag-changes"}},
		{"etag-constant", "every content has the same ETag", header(read, "ETag", `"1"`), []string{"headers-etag-changes"}, nil},
		{"not-modified", "If-None-Match on a read gives 304", replace(and(read, withHeader("If-None-Match")), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(304)
		}), []string{"headers-read-if-none-match", "headers-read-if-none-match-any"}, nil},
		{"precondition", "If-Match on a PUT gives 412", replace(and(put, withHeader("If-Match")), reject(412)), []string{"headers-put-if-match"}, nil},
		{"create-only", "If-None-Match: * on a PUT gives 412", replace(and(put, withHeader("If-None-Match")), reject(412)), []string{"headers-put-if-none-match"}, nil},
		{"idempotency-refused", "Idempotency-Key is refused", replace(withHeader("Idempotency-Key"), reject(400)),
			[]string{"headers-put-idempotency-key", "headers-append-idempotency-key", "headers-batch-idempotency-key"}, []string{"headers-*idempotency-key*"}},
		{"idempotency-kept", "a key that was used gives the first answer again", remembering(), []string{"headers-idempotency-key-append", "headers-idempotency-key-put"}, []string{"headers-*idempotency-key*"}},
		{"tenant-refused", "X-Tenant-Id is refused", replace(withHeader("X-Tenant-Id"), reject(400)), []string{"headers-read-tenant", "headers-put-tenant", "headers-listing-tenant"},
			[]string{"headers-*-tenant", "auth-tenant-header*"}},
		{"workspace-refused", "X-Workspace-Id is refused", replace(withHeader("X-Workspace-Id"), reject(403)), []string{"headers-batch-workspace"}, []string{"headers-*-workspace"}},
		{"accept-strict", "a read wants Accept: text/markdown", replace(and(read, func(r *http.Request) bool {
			return r.Header.Get("Accept") == "application/octet-stream"
		}), reject(406)), []string{"headers-accept-octets"}, nil},
	}
}

// remembering answers a request with a known key as it did the first time.
func remembering() wrapper {
	var mu sync.Mutex
	first := map[string]*captured{}
	return replace(withHeader("Idempotency-Key"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Method + r.URL.String() + r.Header.Get("Idempotency-Key")
		if first[key] == nil {
			first[key] = capture(next, r)
		}
		first[key].send(w, r)
	})
}

// done answers, and does nothing.
func respond(status int, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // goes nowhere where the status has no body
	}
}

// The headers that a daemon ignores, as the checks of each operation are named.
var (
	ignoredReadHeaders  = map[string]string{"tenant": "X-Tenant-Id", "workspace": "X-Workspace-Id", "if-match": "If-Match", "if-none-match": "If-None-Match"}
	ignoredWriteHeaders = map[string]string{"tenant": "X-Tenant-Id", "workspace": "X-Workspace-Id", "if-match": "If-Match", "if-none-match": "If-None-Match", "idempotency-key": "Idempotency-Key"}
)

// headerObeyedMutants answer requests with a header as if all were well, and do
// nothing: every write is dropped, every read is empty.
func headerObeyedMutants() []mutant {
	var list []mutant
	add := func(headers map[string]string, what, op, match string, serve func(http.ResponseWriter, *http.Request, http.Handler)) {
		for _, id := range slices.Sorted(maps.Keys(headers)) {
			list = append(list, mutant{op + "-" + id + "-obeyed", headers[id] + " makes " + what, replace(and(route(match), withHeader(headers[id])), serve),
				[]string{"headers-" + op + "-" + id}, []string{"headers-" + op + "-*", "headers-idempotency-key-*", "auth-tenant-header*"}})
		}
	}
	add(ignoredWriteHeaders, "PUT write nothing", "put", "PUT /documents", respond(204, ""))
	add(ignoredWriteHeaders, "append add nothing", "append", "POST /documents/append", respond(204, ""))
	add(ignoredWriteHeaders, "DELETE remove nothing", "delete", "DELETE /documents", respond(204, ""))
	add(ignoredWriteHeaders, "rename move nothing", "rename", "POST /documents/rename", respond(204, ""))
	add(ignoredWriteHeaders, "a batch commit nothing", "batch", "POST /documents/batch-ops", respond(200, `{"committed":1}`))
	add(ignoredReadHeaders, "a read empty", "read", "GET /documents/read", respond(200, ""))
	add(ignoredReadHeaders, "HEAD find everything", "head", "HEAD /documents", respond(200, ""))
	add(ignoredReadHeaders, "stat empty", "stat", "GET /documents/stat", respond(200, "{}"))
	add(ignoredReadHeaders, "a listing empty", "listing", "GET /documents", respond(200, `{"items":[]}`))
	return list
}
