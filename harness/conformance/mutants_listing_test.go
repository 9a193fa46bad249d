package conformance

import (
	"net/http"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

func listingMutants() []mutant {
	listing := route("GET /documents")
	without := func(name string) wrapper {
		return before(listing, func(r *http.Request) {
			if isRecordList(r) {
				return
			}
			setQuery(r, name, "")
			if isRecordList(r) {
				setQuery(r, "recursive", "false")
			}
		})
	}
	edited := func(change func(r *http.Request, items []any) []any) wrapper {
		return after(listing, func(r *http.Request, a *captured) {
			a.Edit(func(o map[string]any) {
				if items, ok := o["items"].([]any); ok {
					o["items"] = change(r, items)
				}
			})
		})
	}
	field := func(name string, change func(any) any) wrapper {
		return edited(func(_ *http.Request, items []any) []any {
			for _, item := range items {
				o := item.(map[string]any)
				o[name] = change(o[name])
			}
			return items
		})
	}
	sortedBy := func(key func(path string, isDir bool) string) wrapper {
		return edited(func(_ *http.Request, items []any) []any {
			of := func(item any) string { o := item.(map[string]any); return key(o["path"].(string), o["is_dir"] == true) }
			slices.SortFunc(items, func(a, b any) int { return strings.Compare(of(a), of(b)) })
			return items
		})
	}
	return []mutant{
		{"listing-cut", "a listing is truncated to 1,000 items",
			edited(func(_ *http.Request, items []any) []any { return items[:min(1000, len(items))] }),
			[]string{"listing-many"}, []string{"listing-many-sorted"}},
		{"listing-unsorted", "a listing is in descending order",
			edited(func(_ *http.Request, items []any) []any { slices.Reverse(items); return items }),
			[]string{"listing-sorted", "listing-sorted-recursive"},
			[]string{"listing-many-sorted"}},
		{"listing-by-folder", "a listing is in the order of a walk through the folders",
			sortedBy(func(p string, _ bool) string { return strings.ReplaceAll(p, "/", "\x00") }),
			[]string{"listing-sorted-recursive"}, nil},
		{"listing-by-prefix", "a listing sorts a folder by its name and a slash", sortedBy(func(p string, isDir bool) string {
			if isDir {
				p += "/"
			}
			return p
		}), []string{"listing-sorted"}, nil},
		{"listing-ignoring-case", "a listing is sorted without regard to case",
			sortedBy(func(p string, _ bool) string { return strings.ToLower(p) }), []string{"listing-sorted-code-points"}, nil},
		{"listing-null", "the items of an empty listing are null",
			after(listing, func(_ *http.Request, a *captured) { a.ReplaceText(`"items":[]`, `"items":null`) }),
			[]string{"listing-empty"},
			[]string{"records-*"}},
		{"listing-bare", "a listing is a bare array", after(listing, func(_ *http.Request, a *captured) {
			if s, ok := strings.CutPrefix(strings.TrimSpace(a.Body.String()), `{"items":`); ok {
				a.SetText(strings.TrimSuffix(s, "}"))
			}
		}), []string{"listing-items"},
			[]string{"listing-empty", "records-*", "auth-readonly-listing-200", "headers-listing-*"}},
		{"glob-ignored", "a listing ignores glob", without("glob"),
			[]string{"listing-glob-star", "listing-glob-question", "listing-glob-set"}, []string{"listing-g*"}},
		{"glob-bytes", "? in a glob matches one byte", edited(func(r *http.Request, items []any) []any {
			return slices.DeleteFunc(items, func(item any) bool {
				return r.URL.Query().Get("glob") == "?.md" && item.(map[string]any)["path"] == "é.md"
			})
		}), []string{"listing-glob-question-character"}, nil},
		{"glob-no-caret", "a leading ^ does not negate a set", before(listing, func(r *http.Request) {
			setQuery(r, "glob", strings.Replace(r.URL.Query().Get("glob"), "[^", "[", 1))
		}), []string{"listing-glob-set-not-caret"}, nil},
		{"generated-shown", "a listing contains generated files", before(listing, func(r *http.Request) {
			if r.URL.Query().Has("path") || len(r.URL.Query()) > 0 {
				setQuery(r, "include_generated", "true")
			}
		}), []string{"listing-generated-hidden", "listing-generated-hidden-deep", "listing-generated-hidden-false"},
			[]string{"listing-generated-*"}},
		{"generated-hidden", "a listing ignores include_generated", without("include_generated"),
			[]string{"listing-generated-shown", "listing-generated-shown-deep"},
			[]string{"listing-generated-*", "paths-allowed-*"}},
		{"recursive-ignored", "a listing ignores recursive", without("recursive"), []string{"listing-recursive"},
			[]string{"listing-*", "records-listing-parameter", "batch-*", "paths-*", "limits-listing-*"}},
		{"dir-ignored", "a listing ignores dir", without("dir"),
			[]string{"listing-dir", "listing-dir-nested", "listing-dir-recursive"},
			[]string{"listing-*", "paths-dir-*"}},
		{"dir-prefix", "dir matches prefixes of folder names", edited(func(r *http.Request, items []any) []any {
			if r.URL.Query().Get("dir") == "note" {
				return append(items, map[string]any{"path": "notes/b.md"})
			}
			return items
		}), []string{"listing-dir-no-prefix"}, nil},
		{"listing-relative", "the paths of a folder's entries are relative to the folder",
			edited(func(r *http.Request, items []any) []any {
				for _, item := range items {
					o := item.(map[string]any)
					o["path"] = strings.TrimPrefix(o["path"].(string), r.URL.Query().Get("dir")+"/")
				}
				return items
			}), []string{"listing-entry-path", "listing-dir"}, []string{"listing-dir-*", "listing-glob-dir"}},
		{"folders-as-documents", "the is_dir of folders in a listing is false",
			field("is_dir", func(any) any { return false }),
			[]string{"listing-flat-folders"}, nil},
		{"listing-camel-case", "the keys of a listing are in camelCase",
			after(listing, func(_ *http.Request, a *captured) { a.ReplaceText(`"is_dir"`, `"isDir"`) }),
			[]string{"listing-snake-case", "listing-entry-is-dir"}, []string{"listing-*", "records-listing-parameter"}},
		{"listing-epoch", "the mtime of an entry is a number", field("mtime", func(any) any { return 1700000000 }),
			[]string{"listing-entry-mtime"}, []string{"listing-entry-as-stat"}},
		{"listing-zero", "the size of an entry is 0", field("size", func(any) any { return 0 }),
			[]string{"listing-entry-size"}, []string{"listing-entry-as-stat"}},
	}
}

func batchMutants() []mutant {
	batch := route("POST /documents/batch-ops")
	ops := func(change func([]any) []any) wrapper {
		return before(batch, func(r *http.Request) {
			editBody(r, func(o map[string]any) {
				if list, ok := o["ops"].([]any); ok {
					o["ops"] = change(list)
				}
			})
		})
	}
	each := func(change func(op map[string]any)) wrapper {
		return ops(func(list []any) []any {
			for _, item := range list {
				if op, ok := item.(map[string]any); ok {
					change(op)
				}
			}
			return list
		})
	}
	return []mutant{
		{"batch-not-atomic", "a failed batch keeps the effects of its first ops", splitBatch(),
			[]string{"batch-atomic-delete-missing", "batch-atomic-path-invalid", "batch-atomic-append"},
			[]string{"batch-*", "events-failed-silent", "events-batch*", "limits-batch-*", "headers-batch-*",
				"errors-*-batch-*"}},
		{"batch-reordered", "the ops of a batch are applied in reverse order",
			ops(func(list []any) []any { slices.Reverse(list); return list }),
			[]string{"batch-order", "batch-write-write", "batch-rename-chain"}, []string{"batch-*", "events-*"}},
		{"batch-last-lost", "the last op of a long batch is not applied", ops(func(list []any) []any {
			if len(list) >= 100 {
				return list[:len(list)-1]
			}
			return list
		}), []string{"batch-many"}, []string{"limits-*", "listing-many*"}},
		{"batch-count", "the committed of a batch is always 1", after(batch, func(_ *http.Request, a *captured) {
			a.Edit(func(o map[string]any) {
				if _, ok := o["committed"]; ok {
					o["committed"] = 1
				}
			})
		}), []string{"batch-committed"}, []string{"batch-many", "limits-batch-*"}},
		{"batch-append-writes", "an append op replaces the content", each(func(op map[string]any) {
			if op["type"] == "append" {
				op["type"] = "write"
			}
		}), []string{"batch-append", "batch-write-append"}, []string{"batch-*", "limits-batch-1025-ops-whole"}},
		{"batch-base64-tolerated", "content that is not base64 is treated as empty", each(func(op map[string]any) {
			if op["content_base64"] == "%%%" {
				op["content_base64"] = ""
			}
		}), []string{"batch-base64-invalid-400"}, nil},
		{"batch-content-optional", "a write op without content writes an empty document", each(func(op map[string]any) {
			_, snake := op["content_base64"]
			_, camel := op["contentBase64"]
			if !snake && !camel && op["type"] == "write" {
				op["content_base64"] = ""
			}
		}), []string{"batch-content-missing-400"}, nil},
		{"batch-type-skipped", "ops of unknown type are ignored", ops(func(list []any) []any {
			return slices.DeleteFunc(list,
				func(item any) bool { op, _ := item.(map[string]any); return op["type"] == "touch" })
		}), []string{"batch-type-unknown-400"}, nil},
		{"batch-missing-ignored", "deleting a missing document in a batch succeeds", ops(func(list []any) []any {
			return slices.DeleteFunc(list, func(item any) bool {
				op, _ := item.(map[string]any)
				return op["type"] == "delete" && op["path"] == "none.md"
			})
		}), []string{"errors-status-batch-missing"}, []string{"errors-*-batch-missing"}},
		{"batch-rename-copies", "a rename op that overwrites a document does not remove the source",
			replace(batch, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				list, _ := bodyObject(r)["ops"].([]any)
				var old *captured
				if len(list) == 1 {
					op, _ := list[0].(map[string]any)
					to, _ := op["to"].(string)
					if op["type"] == "rename" && capture(next,
						subrequest(r, "GET", "/documents/stat", "", "", "path", to)).Status == 200 {
						old = capture(next, subrequest(r, "GET", "/documents/read", "", "", "path", "a.md"))
					}
				}
				a := capture(next, r)
				if old != nil {
					capture(next,
						subrequest(r, "PUT", "/documents", protocol.TypeBytes, old.Body.String(), "path", "a.md"))
				}
				a.Send(w, r)
			}), []string{"batch-rename-overwrites"}, nil},
		{"batch-author-dropped", "a batch with an author is acknowledged but not applied",
			dropBatch(func(r *http.Request) bool { return bodyObject(r)["author"] != nil }),
			[]string{"batch-author"}, nil},
	}
}

// dropBatch acknowledges matching batches of one op without applying them.
func dropBatch(match func(*http.Request) bool) wrapper {
	return replace(and(route("POST /documents/batch-ops"), match), respond(200, `{"committed":1}`))
}

// splitBatch sends every op as a batch of its own.
func splitBatch() wrapper {
	return replace(route("POST /documents/batch-ops"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		o := bodyObject(r)
		list, _ := o["ops"].([]any)
		for _, op := range list[:max(len(list)-1, 0)] {
			body := string(encode(object{"reason": o["reason"], "ops": []any{op}}))
			if a := capture(next,
				subrequest(r, "POST", "/documents/batch-ops", r.Header.Get("Content-Type"), body)); a.Failed() {
				a.Send(w, r)
				return
			}
		}
		if len(list) > 1 {
			setBody(r, string(encode(object{"reason": o["reason"], "ops": list[len(list)-1:]})))
		}
		a := capture(next, r)
		a.ReplaceText(`"committed":1`,
			string(encode(object{"committed": len(list)}))[1:len(encode(object{"committed": len(list)}))-1])
		a.Send(w, r)
	})
}
