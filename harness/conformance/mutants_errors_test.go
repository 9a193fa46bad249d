package conformance

import (
	"net/http"
	"strings"

	"evalctl/daemon/protocol"
)

func errorMutants() []mutant {
	failed := func(change func(*captured)) wrapper {
		return after(notEventStream, func(_ *http.Request, a *captured) {
			if a.Failed() {
				change(a)
			}
		})
	}
	typed := func(match func(*http.Request) bool, contentType string) wrapper {
		return before(match, func(r *http.Request) { r.Header.Set("Content-Type", contentType) })
	}
	return []mutant{
		{"problem-lost", "error responses are plain text",
			failed(func(a *captured) { a.Header().Set("Content-Type", "text/plain"); a.SetText("no") }),
			[]string{"errors-problem-read-missing", "errors-problem-put-path", "errors-problem-batch-type"},
			[]string{"errors-*", "*-problem", "*-code"}},
		{"problem-empty", "error responses are an empty object", failed(func(a *captured) { a.SetText("{}") }),
			[]string{"errors-problem-read-missing", "errors-problem-rename-json"},
			[]string{"errors-*", "*-problem", "*-code"}},
		{"problem-code-lost", "error responses have no code",
			failed(func(a *captured) { a.Edit(func(o map[string]any) { delete(o, "code") }) }),
			[]string{"errors-code-read-missing", "errors-code-put-type"}, []string{"errors-code-*", "*-code"}},
		{"problem-code-number", "the code in error responses is a number",
			failed(func(a *captured) { a.Edit(func(o map[string]any) { o["code"] = 17 }) }),
			[]string{"errors-problem-stat-missing"},
			[]string{"errors-*", "*-problem", "*-code"}},
		{"problem-status-wrong", "the status in the body of error responses is 500",
			failed(func(a *captured) { a.Edit(func(o map[string]any) { o["status"] = 500 }) }),
			[]string{"errors-body-status-read-missing"}, []string{"errors-body-status-*"}},
		{"problem-json", "the media type of error responses is application/json",
			failed(func(a *captured) { a.Header().Set("Content-Type", "application/json") }),
			[]string{"errors-media-type-404", "errors-media-type-400"}, nil},
		{"put-any-type", "PUT accepts any media type", typed(route("PUT /documents"), protocol.TypeBytes),
			[]string{"errors-put-json-415", "errors-put-text-415", "errors-status-put-type"},
			[]string{"errors-*-put-type", "errors-put-*"}},
		{"append-any-type", "append accepts any media type", typed(route("POST /documents/append"), protocol.TypeBytes),
			[]string{"errors-append-text-415"}, []string{"errors-*-append-type"}},
		{"rename-any-type", "rename accepts any media type", typed(route("POST /documents/rename"), protocol.TypeJSON),
			[]string{"errors-rename-text-415"}, []string{"errors-*-rename-type"}},
		{"batch-any-type", "a batch may have any media type",
			typed(route("POST /documents/batch-ops"), protocol.TypeJSON),
			[]string{"errors-batch-text-415"}, []string{"errors-*-batch-type"}},
		{"invalid-422", "invalid requests are rejected with 422", after(notEventStream, changeStatus(400, 422)),
			[]string{"errors-status-put-path", "paths-put-empty-400", "batch-json-invalid-400"},
			[]string{"*-400", "errors-*", "batch-atomic-*", "paths-*"}},
		{"json-first-value", "a rename request ignores what follows the first JSON value",
			before(route("POST /documents/rename"), func(r *http.Request) {
				if s := readBody(r); strings.HasSuffix(s, "}{}") {
					setBody(r, strings.TrimSuffix(s, "{}"))
				}
			}), []string{"errors-rename-json-twice-400"}, nil},
	}
}
