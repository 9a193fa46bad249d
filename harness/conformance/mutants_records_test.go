package conformance

import (
	"net/http"
	"strings"
	"sync"

	"evalctl/daemon/protocol"
	ct "evalctl/harness/conformance/conformancetest"
)

// isRecord matches requests about one record.
func isRecord(method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		parts := strings.SplitN(r.URL.Path, "/", 6) // "", v1, brains, id, documents, id
		return r.Method == method && len(parts) == 6 && parts[4] == "documents" &&
			parts[5] != "read" && parts[5] != "stat"
	}
}

// isRecordList matches requests for the list of records.
func isRecordList(r *http.Request) bool { return route("GET /documents")(r) && r.URL.RawQuery == "" }

// anyRecordCheck is for mutants that affect all records.
var anyRecordCheck = []string{"records-*"}

func recordMutants() []mutant {
	return append(createdRecordMutants(), keptRecordMutants()...)
}

// createdRecordMutants have defects in the creation of records.
func createdRecordMutants() []mutant {
	create := route("POST /documents")
	field := func(change func(o map[string]any)) wrapper {
		return after(create, func(_ *http.Request, a *captured) {
			if a.Status == 201 {
				a.Edit(change)
			}
		})
	}
	set := func(name string, v any) wrapper { return field(func(o map[string]any) { o[name] = v }) }
	request := func(change func(o map[string]any)) wrapper {
		return before(create, func(r *http.Request) { editBody(r, change) })
	}
	same := []string{"records-get-same"}
	return []mutant{
		{"record-200", "POST /documents returns 200 instead of 201", after(create, changeStatus(201, 200)),
			[]string{"records-create-201"}, []string{"records-create-*", "records-snake-case"}},
		{"record-in-data", "the response to POST /documents is in an object data", ct.Wrapped("POST /documents"),
			[]string{"records-envelope"}, nil},
		{"record-camel-case", "the keys of a record are in camelCase",
			after(create, func(_ *http.Request, a *captured) { a.ReplaceText(`"byte_size"`, `"byteSize"`) }),
			[]string{"records-snake-case", "records-byte-size"}, append(same, "records-byte-size-as-read")},
		{"record-never-deleted", "records have no deleted_at",
			field(func(o map[string]any) { delete(o, "deleted_at") }), []string{"records-deleted-at"}, same},
		{"record-local-time", "created_at has no offset", set("created_at", "2024-05-01T12:00:00"),
			[]string{"records-created-at"}, same},
		{"record-upper-case", "checksums are in upper case",
			field(func(o map[string]any) { o["checksum_sha256"] = strings.ToUpper(o["checksum_sha256"].(string)) }),
			[]string{"records-checksum-sha256", "records-checksum-as-read"}, same},
		{"record-size-of-request", "the byte_size of a record is the size of the content in the request",
			replace(create, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				text, _ := bodyObject(r)["content"].(string)
				a := capture(next, r)
				if a.Status == 201 {
					a.Edit(func(o map[string]any) { o["byte_size"] = len(text) })
				}
				a.Send(w, r)
			}), []string{"records-byte-size-as-read"}, same},
		{"record-no-commit", "commit_sha is empty", set("commit_sha", ""), []string{"records-commit-sha"}, same},
		{"record-metadata-null", "the metadata of a record is null if it is empty",
			after(create, func(_ *http.Request, a *captured) { a.ReplaceText(`"metadata":{}`, `"metadata":null`) }),
			[]string{"records-metadata"}, append(same, "records-source-given")},
		{"record-tags-array", "the tags in metadata are an array", field(func(o map[string]any) {
			if m := o["metadata"].(map[string]any); m["tags"] != nil {
				m["tags"] = strings.Split(m["tags"].(string), ",")
			}
		}), []string{"records-tags"}, nil},
		{"record-metadata-strings", "metadata values are converted to strings", request(func(o map[string]any) {
			if m, ok := o["metadata"].(map[string]any); ok && m["n"] != nil {
				m["n"] = "2.5"
			}
		}), []string{"records-metadata-kept"}, nil},
		{"record-title-from-path", "the title of a record is derived from the path", set("title", "a"),
			[]string{"records-title-heading", "records-title-given"}, same},
		{"record-overwrites", "POST /documents replaces an existing document",
			replace(create, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				path, _ := bodyObject(r)["path"].(string)
				if path != "" {
					capture(next, subrequest(r, "DELETE", "/documents", "", "", "path", path))
				}
				next.ServeHTTP(w, r)
			}), []string{"records-path-taken"}, nil},
		{"record-one-path", "documents created without a path get the same path",
			replace(create, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				editBody(r, func(o map[string]any) {
					if o["path"] == nil {
						o["path"] = "note.md"
						capture(next, subrequest(r, "DELETE", "/documents", "", "", "path", "note.md"))
					}
				})
				next.ServeHTTP(w, r)
			}), []string{"records-path-derived"}, nil},
		{"record-cut", "POST /documents truncates content", request(func(o map[string]any) {
			if text, ok := o["content"].(string); ok && len(text) > 8 {
				o["content"] = text[:len(text)-2]
			}
		}), []string{"records-content"}, []string{"records-content-above-limit"}},
		{"record-without-content", "POST /documents accepts a document without content",
			request(func(o map[string]any) {
				if o["content"] == nil || o["content"] == "" {
					o["content"] = "nothing"
				}
			}), []string{"records-content-missing-400", "records-content-empty-400"}, nil},
		{"record-many-tags", "tags beyond the 64th are ignored", request(func(o map[string]any) {
			if tags, ok := o["tags"].([]any); ok {
				o["tags"] = tags[:min(64, len(tags))]
			}
		}), []string{"records-tags-65-400"}, nil},
		{"record-any-type", "POST /documents accepts any media type",
			before(create, func(r *http.Request) { r.Header.Set("Content-Type", protocol.TypeJSON) }),
			[]string{"records-type-415"}, nil},
	}
}

// keptRecordMutants have defects in reading, listing and deleting records.
func keptRecordMutants() []mutant {
	return []mutant{
		{"record-cacheable", "records may be cached",
			after(isRecord("GET"), func(_ *http.Request, a *captured) { a.Header().Set("Cache-Control", "max-age=60") }),
			[]string{"records-get-no-store"}, nil},
		{"record-stale", "a record does not reflect later writes", staleRecords(route("POST /documents")),
			[]string{"records-get-fresh"}, anyRecordCheck},
		{"record-kept", "DELETE of a record has no effect",
			replace(isRecord("DELETE"), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.WriteHeader(http.StatusNoContent)
			}), []string{"records-delete-removes", "records-delete-twice-404"}, nil},
		{"record-missing-204", "DELETE of a record that does not exist returns 204",
			after(isRecord("DELETE"), changeStatus(404, 204)), []string{"records-delete-twice-404"}, nil},
		{"record-only-by-path", "DELETE /documents without a path is rejected with 400",
			replace(func(r *http.Request) bool {
				return route("DELETE /documents")(r) && !r.URL.Query().Has("path")
			}, reject(400)), []string{"records-delete-by-query"}, nil},
		{"records-as-paths", "GET /documents always lists paths",
			before(isRecordList, func(r *http.Request) { setQuery(r, "recursive", "true") }),
			[]string{"records-list", "records-list-put"}, nil},
		{"records-as-records", "GET /documents always lists records",
			before(route("GET /documents"), func(r *http.Request) { r.URL.RawQuery = "" }),
			[]string{"records-listing-parameter"},
			[]string{"listing-*", "limits-*", "batch-*", "paths-*", "auth-*", "errors-*", "documents-*", "events-*",
				"headers-*"}},
		{"record-metadata-echoed", "metadata and tags are returned but not stored",
			after(isRecord("GET"), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) { o["metadata"] = object{} })
			}), []string{"records-metadata-kept", "records-tags"}, anyRecordCheck},
		{"record-title-echoed", "the title is returned but not stored",
			after(isRecord("GET"), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) { o["title"] = "Untitled" })
			}), []string{"records-title-given", "records-title-heading"}, anyRecordCheck},
		{"record-source-echoed", "the source is returned but not stored",
			after(isRecord("GET"), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) { o["source"] = "ingest" })
			}), []string{"records-source-given"}, anyRecordCheck},
		{"record-still-listed", "the list of records contains documents that were deleted by path or query",
			keepListing(),
			[]string{"records-delete-by-query", "records-delete-path"}, nil},
		{"records-created-only", "the list of records omits documents that were written by PUT",
			after(isRecordList, func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) {
					var kept []any
					for _, item := range o["items"].([]any) {
						if item.(map[string]any)["path"] != "b.md" {
							kept = append(kept, item)
						}
					}
					o["items"] = kept
				})
			}), []string{"records-list-put"}, anyRecordCheck},
	}
}

// keepListing returns the records of a brain as they were before the last deletion.
func keepListing() wrapper {
	var mu sync.Mutex
	before := map[string]*captured{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if route("DELETE /documents")(r) {
				before[r.URL.Path] = capture(next, subrequest(r, "GET", "/documents", "", ""))
			}
			old := before[r.URL.Path]
			mu.Unlock()
			if old != nil && isRecordList(r) {
				old.Send(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// staleRecords returns the record of a document as it was first created or read.
func staleRecords(create func(*http.Request) bool) wrapper {
	var mu sync.Mutex
	first := map[string]*captured{}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			isCreate, isRead := create(r), isRecord("GET")(r)
			if !isCreate && !isRead {
				next.ServeHTTP(w, r)
				return
			}
			a := capture(next, r)
			mu.Lock()
			defer mu.Unlock()
			brain := strings.Join(strings.SplitN(r.URL.Path, "/", 5)[:4], "/")
			if isCreate {
				if _, id, ok := strings.Cut(a.Header().Get("Location"), "/documents/"); ok {
					read := &captured{Status: 200}
					read.Header().Set("Content-Type", protocol.TypeJSON)
					read.Header().Set("Cache-Control", "no-store")
					read.SetText(a.Body.String())
					first[brain+id] = read
				}
			} else if old := first[brain+strings.TrimPrefix(r.URL.EscapedPath(), brain+"/documents/")]; old != nil {
				a = old
			}
			a.Send(w, r)
		})
	}
}
