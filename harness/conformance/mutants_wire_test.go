package conformance

import (
	"net/http"
	"path"
	"strings"

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
		{"put-long-path-dropped", "a PUT of a long path is answered and dropped", instead(and(route("PUT /documents"), func(r *http.Request) bool {
			n := len(r.URL.Query().Get("path"))
			return n > 1000 && n <= 1024
		}), done(204, "")), []string{"paths-1024"}, nil},
		{"put-pathless-written", "a PUT without a path is 400, and writes somewhere", instead(and(route("PUT /documents"), func(r *http.Request) bool {
			return !r.URL.Query().Has("path")
		}), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			ask(next, sub(r, "PUT", "/documents", protocol.TypeBytes, bodyOf(r), "path", "untitled.md"))
			next.ServeHTTP(w, r)
		}), []string{"documents-put-path-missing-400"}, nil},
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
		{"put-type-case-dropped", "a PUT whose media type is not in lower case is answered and dropped", instead(and(route("PUT /documents"), func(r *http.Request) bool {
			return r.Header.Get("Content-Type") == "Application/Octet-Stream"
		}), done(204, "")), []string{"errors-put-type-case"}, nil},
		{"rename-charset-dropped", "a rename whose media type has a charset is answered and dropped", instead(and(route("POST /documents/rename"), hasCharset), done(204, "")),
			[]string{"errors-rename-type-charset"}, nil},
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
