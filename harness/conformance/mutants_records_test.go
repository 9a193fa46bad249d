package conformance

import (
	"net/http"
	"strings"

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
	return []mutant{
		{"record-in-data", "the response to POST /documents is in an object data", ct.Wrapped("POST /documents"),
			[]string{"records-envelope"}, nil},
		{"record-camel-case", "the keys of a record are in camelCase",
			after(create, func(_ *http.Request, a *captured) { a.ReplaceText(`"byte_size"`, `"byteSize"`) }),
			[]string{"records-snake-case", "records-byte-size"}, nil},
		{"record-never-deleted", "records have no deleted_at",
			field(func(o map[string]any) { delete(o, "deleted_at") }), []string{"records-deleted-at"}, nil},
		{"record-local-time", "created_at has no offset", set("created_at", "2024-05-01T12:00:00"),
			[]string{"records-created-at"}, nil},
		{"record-upper-case", "checksums are in upper case",
			field(func(o map[string]any) { o["checksum_sha256"] = strings.ToUpper(o["checksum_sha256"].(string)) }),
			[]string{"records-checksum-sha256"}, nil},
		{"record-no-commit", "commit_sha is empty", set("commit_sha", ""), []string{"records-commit-sha"}, nil},
		{"record-metadata-null", "the metadata of a record is null if it is empty",
			after(create, func(_ *http.Request, a *captured) { a.ReplaceText(`"metadata":{}`, `"metadata":null`) }),
			[]string{"records-metadata"}, nil},
		{"record-metadata-strings", "metadata values are converted to strings", request(func(o map[string]any) {
			if m, ok := o["metadata"].(map[string]any); ok && m["n"] != nil {
				m["n"] = "2.5"
			}
		}), []string{"records-metadata-kept"}, nil},
		{"record-title-from-path", "the title of a record is derived from the path", set("title", "a"),
			[]string{"records-title-heading", "records-title-given"}, nil},
		{"record-cut", "POST /documents truncates content", request(func(o map[string]any) {
			if text, ok := o["content"].(string); ok && len(text) > 8 {
				o["content"] = text[:len(text)-2]
			}
		}), []string{"records-content"}, nil},
	}
}

// keptRecordMutants have defects in reading, listing and deleting records.
func keptRecordMutants() []mutant {
	return []mutant{
		{"records-as-records", "GET /documents always lists records",
			before(route("GET /documents"), func(r *http.Request) { r.URL.RawQuery = "" }),
			[]string{"records-listing-parameter"},
			[]string{"listing-*", "limits-*", "batch-*", "paths-*", "auth-*", "errors-*", "documents-*", "events-*",
				"headers-*"}},
		{"record-metadata-echoed", "metadata and tags are returned but not stored",
			after(isRecord("GET"), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) { o["metadata"] = object{} })
			}), []string{"records-metadata-kept"}, anyRecordCheck},
		{"record-title-echoed", "the title is returned but not stored",
			after(isRecord("GET"), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) { o["title"] = "Untitled" })
			}), []string{"records-title-given", "records-title-heading"}, anyRecordCheck},
	}
}
