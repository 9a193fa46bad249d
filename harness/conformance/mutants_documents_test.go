package conformance

import (
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/protocol"
	ct "evalctl/harness/conformance/conformancetest"
)

func statusMutants() []mutant {
	return []mutant{
		{"put-200", "PUT returns 200 instead of 204", after(route("PUT /documents"), changeStatus(204, 200)),
			[]string{"documents-put-204", "documents-put-existing-204"},
			[]string{"documents-put-*", "paths-allowed-*", "paths-1024", "headers-put-*", "limits-put-2mib-204", "limits-gzip"}},
		{"append-201", "append returns 201 instead of 204",
			after(route("POST /documents/append"), changeStatus(204, 201)),
			[]string{"documents-append-204"}, []string{"documents-append-*", "headers-append-*", "limits-append-*"}},
		{"delete-200", "DELETE returns 200 instead of 204", after(route("DELETE /documents"), changeStatus(204, 200)),
			[]string{"documents-delete-204"}, []string{"headers-delete-*"}},
		{"rename-200", "rename returns 200 instead of 204",
			after(route("POST /documents/rename"), changeStatus(204, 200)),
			[]string{"documents-rename-204"},
			[]string{"documents-rename-*", "headers-rename-*"}},
		{"batch-204", "a batch returns 204 without a count",
			after(route("POST /documents/batch-ops"), changeStatus(200, 204)),
			[]string{"batch-200", "batch-committed"},
			[]string{"batch-json", "batch-author", "batch-many", "headers-batch-*", "limits-batch-*"}},
		{"read-missing-empty", "reading a document that does not exist returns an empty body",
			after(route("GET /documents/read"), func(_ *http.Request, a *captured) {
				if a.Missing() {
					a.ReplaceWith(200, "")
				}
			}), []string{"documents-read-missing-404", "errors-status-read-missing"},
			[]string{"documents-*", "batch-*", "errors-*", "headers-*", "records-*"}},
		{"stat-missing-500", "stat of a document that does not exist returns 500",
			after(route("GET /documents/stat"), changeStatus(404, 500)),
			[]string{"documents-stat-missing-404", "errors-status-stat-missing"}, []string{"headers-stat-*"}},
		{"head-missing-200", "HEAD of a document that does not exist returns 200",
			after(route("HEAD /documents"), changeStatus(404, 200)),
			[]string{"documents-head-missing-404", "documents-head-missing-empty"},
			[]string{"documents-delete-removes", "headers-head-*"}},
		{"delete-missing-204", "DELETE of a document that does not exist returns 204",
			after(route("DELETE /documents"), changeStatus(404, 204)),
			[]string{"documents-delete-missing-404", "documents-delete-twice-404", "errors-status-delete-missing"},
			[]string{"errors-*-delete-missing", "events-refused-silent"}},
		{"rename-missing-204", "rename of a document that does not exist returns 204",
			after(route("POST /documents/rename"), changeStatus(404, 204)),
			[]string{"documents-rename-missing-404", "documents-rename-twice-404"},
			[]string{"documents-rename-missing-keeps", "errors-*-rename-missing", "events-refused-silent"}},
	}
}

func documentMutants() []mutant {
	return []mutant{
		{"append-overwrites", "append replaces the content",
			replace(route("POST /documents/append"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				r.Method, r.URL.Path = "PUT", strings.TrimSuffix(r.URL.Path, "/append")
				next.ServeHTTP(w, r)
			}), []string{"documents-append-extends", "documents-append-binary", "documents-append-twice"},
			[]string{"documents-append-*", "documents-read-fresh", "documents-stat-size-grows", "limits-append-*",
				"headers-append-*", "headers-idempotency-key-append"}},
		{"append-needs-document", "append to a document that does not exist returns 404",
			replace(route("POST /documents/append"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if capture(next,
					subrequest(r, "GET", "/documents/stat", "", "", "path", r.URL.Query().Get("path"))).Missing() {
					reject(404)(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			}), []string{"documents-append-creates"},
			[]string{"documents-append-*", "events-append-created", "headers-idempotency-key-append",
				"limits-append-*", "errors-*-append-*"}},
		{"rename-copies", "rename does not remove the old document", renameAsCopy(),
			[]string{"documents-rename-source-gone"},
			[]string{"documents-rename-*", "headers-rename-*", "listing-after-rename", "events-*", "search-renamed"}},
		{"rename-keeps-destination", "rename does not overwrite an existing document",
			replace(route("POST /documents/rename"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				to, _ := bodyObject(r)["to"].(string)
				if capture(next, subrequest(r, "GET", "/documents/stat", "", "", "path", to)).Status == 200 {
					reject(409)(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			}), []string{"documents-rename-overwrites"},
			[]string{"documents-rename-missing-keeps", "documents-rename-twice-404", "auth-*-rename-403"}},
		{"put-line-ends", "PUT normalises line endings", before(route("PUT /documents"), func(r *http.Request) {
			setBody(r, strings.ReplaceAll(readBody(r), "\r\n", "\n"))
		}), []string{"documents-put-crlf"}, nil},
		{"put-text-only", "PUT replaces bytes that are not valid UTF-8",
			before(route("PUT /documents"), func(r *http.Request) {
				if r.Header.Get("Content-Encoding") == "" {
					setBody(r, strings.ToValidUTF8(readBody(r), "\ufffd"))
				}
			}), []string{"documents-put-binary"}, []string{"documents-append-binary", "documents-rename-moves"}},
		{"put-drops-mark", "PUT removes a byte order mark", before(route("PUT /documents"), func(r *http.Request) {
			setBody(r, strings.TrimPrefix(readBody(r), "\ufeff"))
		}), []string{"documents-put-byte-order-mark"}, nil},
		{"put-composes", "PUT composes letters and their accents", before(route("PUT /documents"), func(r *http.Request) {
			if text := readBody(r); utf8.ValidString(text) {
				setBody(r, norm.NFC.String(text))
			}
		}), []string{"documents-put-normal-form"}, nil},
		{"put-keeps-longer", "PUT of a shorter text keeps the end of the longer one",
			replace(route("PUT /documents"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				text := readBody(r)
				if old := capture(next,
					subrequest(r, "GET", "/documents/read", "", "", "path",
						r.URL.Query().Get("path"))); old.Status == 200 && old.Body.Len() > len(text) {
					setBody(r, text+old.Body.String()[len(text):])
				}
				next.ServeHTTP(w, r)
			}), []string{"documents-put-replaces"},
			[]string{"documents-put-concurrent", "search-updated", "documents-*", "headers-*"}},
	}
}

func readMutants() []mutant {
	return []mutant{
		{"read-cached", "reads are cached and writes do not invalidate the cache",
			replayFirst(route("GET /documents/read"), tokenAndURL, anyResponse), []string{"documents-read-fresh"}, nil},
		{"read-markdown", "documents are returned as text/markdown",
			after(route("GET /documents/read"), func(_ *http.Request, a *captured) {
				a.Header().Set("Content-Type", "text/markdown")
			}), []string{"documents-read-content-type", "documents-read-never-sniffed"},
			[]string{"errors-media-type-404"}},
		{"read-sniffed", "HTML documents are returned as text/html",
			after(route("GET /documents/read"), func(r *http.Request, a *captured) {
				if strings.HasSuffix(r.URL.RawQuery, ".html") {
					a.Header().Set("Content-Type", "text/html")
				}
			}), []string{"documents-read-never-sniffed"}, nil},
		{"head-with-body", "the response to HEAD has a body",
			replace(route("HEAD /documents"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				defer conn.Close()
				a := capture(next, r)
				_, _ = conn.Write([]byte("HTTP/1.1 " + map[bool]string{true: "200 OK",
					false: "404 Not Found"}[a.Status == 200] +
					"\r\nConnection: close\r\nCache-Control: no-store\r\n\r\n" + strings.Repeat("body", 10)))
			}), []string{"documents-head-empty"},
			[]string{"documents-head-missing-empty", "headers-head-*", "auth-*head-*", "paths-head-*"}},
		{"delete-by-prefix", "DELETE also removes a document whose path has the deleted path as a prefix",
			replace(route("DELETE /documents"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				p := r.URL.Query().Get("path")
				next.ServeHTTP(w, r)
				capture(next, subrequest(r, "DELETE", "/documents", "", "", "path", p+".bak"))
			}), []string{"documents-delete-keeps-others"}, nil},
		{"brains-shared", "reading a missing document returns that of another brain", shareAcrossBrains(),
			[]string{"documents-brains-apart"},
			[]string{"documents-*", "batch-*", "errors-*-read-missing", "headers-*", "records-*"}},
		{"stat-directory", "the is_dir of a document is true",
			after(route("GET /documents/stat"), func(_ *http.Request, a *captured) {
				a.ReplaceText(`"is_dir":false`, `"is_dir":true`)
			}), []string{"documents-stat-is-dir"}, []string{"listing-entry-as-stat"}},
		{"stat-characters", "the size is in characters",
			after(route("GET /documents/stat"), func(_ *http.Request, a *captured) {
				a.ReplaceText(`"size":5`, `"size":4`)
			}), []string{"documents-stat-size"}, []string{"listing-entry-as-stat"}},
		{"stat-seconds", "mtime has no milliseconds",
			after(route("GET /documents/stat"), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) {
					if s, ok := o["mtime"].(string); ok {
						o["mtime"] = s[:19] + "Z"
					}
				})
			}), []string{"documents-stat-mtime"}, []string{"documents-stat-mtime-advances", "listing-entry-as-stat"}},
		{"stat-in-data", "the response to stat is in an object data", ct.Wrapped("GET /documents/stat"),
			[]string{"documents-stat-envelope"}, nil},
		{"stat-camel-case", "the keys of the response to stat are in camelCase",
			after(route("GET /documents/stat"), func(_ *http.Request, a *captured) {
				a.ReplaceText(`"is_dir"`, `"isDir"`)
			}), []string{"documents-stat-snake-case", "documents-stat-is-dir"},
			[]string{"documents-stat-folder", "listing-entry-as-stat"}},
	}
}

// renameAsCopy renames without removing the old document.
func renameAsCopy() wrapper {
	return replace(route("POST /documents/rename"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		from, _ := bodyObject(r)["from"].(string)
		old := capture(next, subrequest(r, "GET", "/documents/read", "", "", "path", from))
		a := capture(next, r)
		if a.Status == 204 {
			capture(next, subrequest(r, "PUT", "/documents", protocol.TypeBytes, old.Body.String(), "path", from))
		}
		a.Send(w, r)
	})
}

func tokenAndURL(r *http.Request) string { return r.URL.String() + r.Header.Get("Authorization") }

// shareAcrossBrains returns a document of any brain where one is missing.
func shareAcrossBrains() wrapper {
	var mu sync.Mutex
	texts := map[string]string{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if route("* /events")(r) {
				mu.Unlock()
				defer mu.Lock()
				next.ServeHTTP(w, r)
				return
			}
			p := r.URL.Query().Get("path")
			if route("PUT /documents")(r) {
				texts[p] = readBody(r)
			}
			a := capture(next, r)
			if text, ok := texts[p]; ok && route("GET /documents/read")(r) && a.Missing() {
				a.ReplaceWith(200, text)
			}
			a.Send(w, r)
		})
	}
}
