package conformance

import (
	"net/http"
	"path"
	"strings"
	"sync"

	"evalctl/daemon/protocol"
)

func pathMutants() []mutant {
	cleaned := func(match func(*http.Request) bool) wrapper {
		return before(match, func(r *http.Request) {
			if p := r.URL.Query().Get("path"); strings.Contains(p, "..") && p != "a..b/c...md" && !strings.HasPrefix(p, "...") {
				setQuery(r, "path", strings.TrimPrefix(path.Clean("/"+p), "/")+"x")
			}
		})
	}
	return []mutant{
		{"put-traversal", "PUT takes .. in a path", cleaned(route("PUT /documents")), []string{"paths-put-dot-dot-400", "paths-put-dot-dot-first-400", "paths-put-dot-dot-deep-400"},
			[]string{"paths-put-dot-dot-*", "errors-*-put-path", "errors-media-type-400", "events-refused-silent"}},
		{"read-traversal", "reading takes .. in a path", cleaned(route("GET /documents/read")), []string{"paths-read-dot-dot-400"},
			[]string{"paths-read-dot-dot-*", "errors-*-read-path"}},
		{"put-cleans", "PUT repairs a path", before(route("PUT /documents"), func(r *http.Request) {
			if p := r.URL.Query().Get("path"); strings.HasPrefix(p, "./") || strings.Contains(p, "//") || strings.HasPrefix(p, "/") {
				setQuery(r, "path", strings.TrimPrefix(path.Clean("/"+p), "/"))
			}
		}), []string{"paths-put-leading-slash-400", "paths-put-dot-first-400", "paths-put-empty-segment-400"}, nil},
		{"put-backslash", "a backslash is taken as a slash", before(route("PUT /documents"), func(r *http.Request) {
			setQuery(r, "path", strings.ReplaceAll(r.URL.Query().Get("path"), `\`, "/"))
		}), []string{"paths-put-backslash-400"}, nil},
		{"put-cut-at-nul", "a path ends at NUL", before(route("PUT /documents"), func(r *http.Request) {
			p, _, _ := strings.Cut(r.URL.Query().Get("path"), "\x00")
			setQuery(r, "path", p)
		}), []string{"paths-put-nul-400"}, nil},
		{"paths-decoded-twice", "a path is decoded twice", before(anyOf("PUT /documents", "GET /documents/read"), func(r *http.Request) {
			if p := r.URL.Query().Get("path"); strings.Contains(p, "%2e") {
				setQuery(r, "path", "a/Fb.md")
			}
		}), []string{"paths-allowed-percent-encoded"}, nil},
		{"paths-lower-case", "paths become lower case", before(anyRequest, func(r *http.Request) {
			setQuery(r, "path", strings.ToLower(r.URL.Query().Get("path")))
		}), []string{"paths-case-kept"}, []string{"paths-*", "listing-*", "errors-*"}},
		{"append-traversal", "append takes .. in a path", cleaned(route("POST /documents/append")), []string{"paths-append-dot-dot-first-400", "errors-status-append-path"}, []string{"errors-*-append-path"}},
		{"rename-traversal", "rename takes .. in a path", before(route("POST /documents/rename"), func(r *http.Request) {
			setObject(r, func(o map[string]any) {
				if to, ok := o["to"].(string); ok {
					o["to"] = strings.TrimPrefix(to, "../")
				}
			})
		}), []string{"paths-rename-to-dot-dot-first-400"}, []string{"errors-*-rename-*"}},
	}
}

func limitMutants() []mutant {
	put, add, batch := route("PUT /documents"), route("POST /documents/append"), route("POST /documents/batch-ops")
	sized := func(match func(*http.Request) bool, from int64) func(*http.Request) bool {
		return func(r *http.Request) bool { return match(r) && r.ContentLength >= from }
	}
	const most = protocol.MaxWriteBytes
	return []mutant{
		{"put-limit-low", "a PUT of 2 MiB is 413", instead(sized(put, most), refuses(413)), []string{"limits-put-2mib-204"}, []string{"limits-append-document-grows", "limits-413-code"}},
		{"put-cut", "a PUT is cut at 2 MiB", before(sized(put, most+1), func(r *http.Request) {
			if text := bodyOf(r); len(text) > most {
				setBody(r, text[:most])
			}
		}), []string{"limits-put-over-whole", "limits-put-over-413"}, nil},
		{"append-cut", "an append is cut at 2 MiB", before(sized(add, most+1), func(r *http.Request) { setBody(r, bodyOf(r)[:most]) }),
			[]string{"limits-append-over-whole", "limits-append-over-413"}, nil},
		{"append-limit-low", "an append of 2 MiB is 413", instead(sized(add, most), refuses(413)), []string{"limits-append-2mib-204"}, nil},
		{"batch-limit-low", "a batch of 1,024 ops is 413", instead(batch, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if list, _ := objectOf(r)["ops"].([]any); len(list) == protocol.MaxBatchOps {
				refuses(413)(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		}), []string{"limits-batch-1024-ops-200"}, nil},
		{"batch-cut", "a batch is cut at 1,024 ops", before(batch, func(r *http.Request) {
			if r.ContentLength < 1<<20 {
				setObject(r, func(o map[string]any) {
					if list, ok := o["ops"].([]any); ok {
						o["ops"] = list[:min(len(list), protocol.MaxBatchOps)]
					}
				})
			}
		}), []string{"limits-batch-1025-ops-413", "limits-batch-1025-ops-whole"}, nil},
		{"listing-cut-at-10000", "a listing is cut at 10,000 items", after(route("GET /documents"), func(_ *http.Request, a *answer) {
			if a.status == 413 {
				a.become(200, `{"items":[]}`)
			}
		}), []string{"limits-listing-over-whole"}, nil},
		{"gzip-packed", "Content-Encoding is ignored", before(put, func(r *http.Request) { r.Header.Del("Content-Encoding") }),
			[]string{"limits-gzip", "limits-gzip-counted-unpacked"}, nil},
		{"413-without-problem", "a 413 has no body", after(sized(put, most+1), func(_ *http.Request, a *answer) { a.say("") }), []string{"limits-413-problem"}, []string{"limits-413-code"}},
	}
}

func errorMutants() []mutant {
	failed := func(change func(*answer)) wrapper {
		return after(anyRequest, func(_ *http.Request, a *answer) {
			if a.failed() {
				change(a)
			}
		})
	}
	typed := func(match func(*http.Request) bool, contentType string) wrapper {
		return before(match, func(r *http.Request) { r.Header.Set("Content-Type", contentType) })
	}
	return []mutant{
		{"problem-lost", "errors are plain text", failed(func(a *answer) { a.header.Set("Content-Type", "text/plain"); a.say("no") }),
			[]string{"errors-problem-read-missing", "errors-problem-put-path", "errors-problem-batch-type"},
			[]string{"errors-*", "*-problem", "search-json-invalid-400", "ask-json-invalid-400", "*-code", "records-*-400"}},
		{"problem-empty", "errors have an empty object", failed(func(a *answer) { a.say("{}") }),
			[]string{"errors-problem-read-missing", "errors-problem-rename-json"},
			[]string{"errors-*", "*-problem", "search-json-invalid-400", "ask-json-invalid-400", "*-code", "records-*-400"}},
		{"problem-code-lost", "errors have no code", failed(func(a *answer) { a.edit(func(o map[string]any) { delete(o, "code") }) }),
			[]string{"errors-code-read-missing", "errors-code-put-type"}, []string{"errors-code-*", "*-code"}},
		{"problem-code-number", "code is a number", failed(func(a *answer) { a.edit(func(o map[string]any) { o["code"] = 17 }) }),
			[]string{"errors-problem-stat-missing"}, []string{"errors-*", "*-problem", "search-json-invalid-400", "ask-json-invalid-400", "*-code", "records-*-400"}},
		{"problem-status-wrong", "status in the body is 500", failed(func(a *answer) { a.edit(func(o map[string]any) { o["status"] = 500 }) }),
			[]string{"errors-body-status-read-missing"}, []string{"errors-body-status-*"}},
		{"problem-json", "errors are application/json", failed(func(a *answer) { a.header.Set("Content-Type", "application/json") }),
			[]string{"errors-media-type-404", "errors-media-type-400"}, nil},
		{"put-any-type", "PUT takes every media type", typed(route("PUT /documents"), protocol.TypeBytes),
			[]string{"errors-put-json-415", "errors-put-text-415", "errors-status-put-type"}, []string{"errors-*-put-type", "errors-put-*"}},
		{"append-any-type", "append takes every media type", typed(route("POST /documents/append"), protocol.TypeBytes),
			[]string{"errors-append-text-415"}, []string{"errors-*-append-type"}},
		{"rename-any-type", "rename takes every media type", typed(route("POST /documents/rename"), protocol.TypeJSON),
			[]string{"errors-rename-text-415"}, []string{"errors-*-rename-type"}},
		{"batch-any-type", "a batch takes every media type", typed(route("POST /documents/batch-ops"), protocol.TypeJSON),
			[]string{"errors-batch-text-415"}, []string{"errors-*-batch-type"}},
		{"invalid-422", "what is invalid is 422", after(anyRequest, status(400, 422)),
			[]string{"errors-status-put-path", "paths-put-empty-400", "batch-json-invalid-400"}, []string{"*-400", "errors-*", "batch-atomic-*", "paths-*"}},
		{"json-first-value", "what follows the first JSON value is ignored", before(route("POST /documents/rename"), func(r *http.Request) {
			if s := bodyOf(r); strings.HasSuffix(s, "}{}") {
				setBody(r, strings.TrimSuffix(s, "{}"))
			}
		}), []string{"errors-rename-json-twice-400"}, nil},
		{"method-404", "a method that an endpoint does not have is 404", after(anyRequest, status(405, 404)), []string{"errors-method-405"}, []string{"errors-method-allow"}},
	}
}

func headerMutants() []mutant {
	header := func(match func(*http.Request) bool, name, value string) wrapper {
		return after(match, func(_ *http.Request, a *answer) {
			if value == "" {
				a.header.Del(name)
				return
			}
			a.header.Set(name, value)
		})
	}
	and := func(a, b func(*http.Request) bool) func(*http.Request) bool {
		return func(r *http.Request) bool { return a(r) && b(r) }
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
		{"not-modified", "If-None-Match on a read gives 304", instead(and(read, withHeader("If-None-Match")), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(304)
		}), []string{"headers-read-if-none-match", "headers-read-if-none-match-any"}, nil},
		{"precondition", "If-Match on a PUT gives 412", instead(and(put, withHeader("If-Match")), refuses(412)), []string{"headers-put-if-match"}, nil},
		{"create-only", "If-None-Match: * on a PUT gives 412", instead(and(put, withHeader("If-None-Match")), refuses(412)), []string{"headers-put-if-none-match"}, nil},
		{"idempotency-refused", "Idempotency-Key is refused", instead(withHeader("Idempotency-Key"), refuses(400)),
			[]string{"headers-put-idempotency-key", "headers-append-idempotency-key", "headers-batch-idempotency-key"}, []string{"headers-*idempotency-key*"}},
		{"idempotency-kept", "a key that was used gives the first answer again", remembering(), []string{"headers-idempotency-key-append", "headers-idempotency-key-put"}, []string{"headers-*idempotency-key*"}},
		{"tenant-refused", "X-Tenant-Id is refused", instead(withHeader("X-Tenant-Id"), refuses(400)), []string{"headers-read-tenant", "headers-put-tenant", "headers-listing-tenant"},
			[]string{"headers-*-tenant", "auth-tenant-header*"}},
		{"workspace-refused", "X-Workspace-Id is refused", instead(withHeader("X-Workspace-Id"), refuses(403)), []string{"headers-batch-workspace"}, []string{"headers-*-workspace"}},
		{"accept-strict", "a read wants Accept: text/markdown", instead(and(read, func(r *http.Request) bool {
			return r.Header.Get("Accept") == "application/octet-stream"
		}), refuses(406)), []string{"headers-accept-octets"}, nil},
	}
}

// remembering answers a request with a known key as it did the first time.
func remembering() wrapper {
	var mu sync.Mutex
	first := map[string]*answer{}
	return instead(withHeader("Idempotency-Key"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Method + r.URL.String() + r.Header.Get("Idempotency-Key")
		if first[key] == nil {
			first[key] = ask(next, r)
		}
		first[key].send(w, r)
	})
}
