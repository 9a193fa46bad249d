package conformance

import (
	"net/http"
	"path"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"evalctl/daemon/protocol"
)

func pathMutants() []mutant {
	cleaned := func(match func(*http.Request) bool) wrapper {
		return before(match, func(r *http.Request) {
			if p := r.URL.Query().Get("path"); strings.Contains(p, "..") && p != "a..b/c...md" && !strings.HasPrefix(p,
				"...") {
				setQuery(r, "path", strings.TrimPrefix(path.Clean("/"+p), "/")+"x")
			}
		})
	}
	return []mutant{
		{"put-traversal", "PUT accepts .. in a path", cleaned(route("PUT /documents")),
			[]string{"paths-put-dot-dot-400", "paths-put-dot-dot-first-400", "paths-put-dot-dot-deep-400"},
			[]string{"paths-put-dot-dot-*", "errors-*-put-path", "errors-media-type-400", "events-refused-silent"}},
		{"read-traversal", "a read accepts .. in a path", cleaned(route("GET /documents/read")),
			[]string{"paths-read-dot-dot-400"},
			[]string{"paths-read-dot-dot-*", "errors-*-read-path"}},
		{"put-cleans", "PUT normalises a path", before(route("PUT /documents"), func(r *http.Request) {
			if p := r.URL.Query().Get("path"); strings.HasPrefix(p, "./") || strings.Contains(p,
				"//") || strings.HasPrefix(p, "/") {
				setQuery(r, "path", strings.TrimPrefix(path.Clean("/"+p), "/"))
			}
		}), []string{"paths-put-leading-slash-400", "paths-put-dot-first-400", "paths-put-empty-segment-400"}, nil},
		{"put-backslash", "PUT treats a backslash as a slash", before(route("PUT /documents"), func(r *http.Request) {
			setQuery(r, "path", strings.ReplaceAll(r.URL.Query().Get("path"), `\`, "/"))
		}), []string{"paths-put-backslash-400"}, nil},
		{"put-cut-at-nul", "PUT truncates a path at NUL", before(route("PUT /documents"), func(r *http.Request) {
			p, _, _ := strings.Cut(r.URL.Query().Get("path"), "\x00")
			setQuery(r, "path", p)
		}), []string{"paths-put-nul-400"}, nil},
		{"paths-decoded-twice", "a path is percent-decoded twice",
			before(anyRoute("PUT /documents", "GET /documents/read"), func(r *http.Request) {
				if p := r.URL.Query().Get("path"); strings.Contains(p, "%2e") {
					setQuery(r, "path", "a/Fb.md")
				}
			}), []string{"paths-allowed-percent-encoded"}, nil},
		{"paths-lower-case", "paths are converted to lower case", before(notEventStream, func(r *http.Request) {
			setQuery(r, "path", strings.ToLower(r.URL.Query().Get("path")))
		}), []string{"paths-case-kept"}, []string{"paths-*", "listing-*", "errors-*"}},
		{"paths-case-merged", "paths that differ in case are one document", merging(strings.ToLower),
			[]string{"paths-distinct-case"}, nil},
		{"paths-normal-form-merged", "paths that differ in normal form are one document", merging(norm.NFC.String),
			[]string{"paths-distinct-normal-form"}, nil},
		{"paths-space-merged", "paths that differ in spaces around them are one document", merging(strings.TrimSpace),
			[]string{"paths-distinct-space"}, nil},
		{"put-long-path-dropped", "a PUT to a long path is acknowledged but not applied",
			replace(and(route("PUT /documents"), func(r *http.Request) bool {
				n := len(r.URL.Query().Get("path"))
				return n > 1000 && n <= 1024
			}), respond(204, "")), []string{"paths-1024"}, nil},
		{"put-rejected-written", "a PUT to a path with .. returns 400 but writes a document",
			replace(and(route("PUT /documents"), func(r *http.Request) bool {
				return strings.Contains(r.URL.Query().Get("path"), "..")
			}), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				capture(next,
					subrequest(r, "PUT", "/documents", protocol.TypeBytes, readBody(r), "path", "untitled.md"))
				next.ServeHTTP(w, r)
			}), []string{"paths-put-rejected-keeps"}, []string{"events-refused-silent", "paths-allowed-*dots"}},
		{"put-pathless-written", "a PUT without a path returns 400 but writes a document",
			replace(and(route("PUT /documents"), func(r *http.Request) bool {
				return !r.URL.Query().Has("path")
			}), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				capture(next,
					subrequest(r, "PUT", "/documents", protocol.TypeBytes, readBody(r), "path", "untitled.md"))
				next.ServeHTTP(w, r)
			}), []string{"documents-put-path-missing-400"}, nil},
		{"append-traversal", "append accepts .. in a path", cleaned(route("POST /documents/append")),
			[]string{"paths-append-dot-dot-first-400", "errors-status-append-path"}, []string{"errors-*-append-path"}},
		{"rename-traversal", "rename accepts .. in a path",
			before(route("POST /documents/rename"), func(r *http.Request) {
				editBody(r, func(o map[string]any) {
					if to, ok := o["to"].(string); ok {
						o["to"] = strings.TrimPrefix(to, "../")
					}
				})
			}), []string{"paths-rename-to-dot-dot-first-400"}, []string{"errors-*-rename-*"}},
	}
}

// merging takes paths that fold to the same for one document, which keeps the first spelling.
func merging(fold func(string) string) wrapper {
	var first sync.Map
	return before(notEventStream, func(r *http.Request) {
		if p := r.URL.Query().Get("path"); p != "" {
			brain := strings.Split(r.URL.Path, "/")[3]
			spelling, _ := first.LoadOrStore(brain+"/"+fold(p), p)
			setQuery(r, "path", spelling.(string))
		}
	})
}
