package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"evalctl/harness/conformance/requirements"
	"evalctl/internal/sse"
)

func isMCP(r *http.Request) bool { return r.URL.Path == "/mcp" }

// toolCall is what a mutant needs to know about a request.
type toolCall struct {
	method, tool string
	args, params map[string]any
	id           any
}

func callOf(r *http.Request) toolCall {
	o := bodyObject(r)
	params, _ := o["params"].(map[string]any)
	args, _ := params["arguments"].(map[string]any)
	method, _ := o["method"].(string)
	return toolCall{method, textOf(params, "name"), args, params, o["id"]}
}

// editMessages changes the messages of the responses to requests that match. change returns the
// messages that are sent in place of one.
func editMessages(match func(toolCall) bool, change func(c toolCall, msg map[string]any) []map[string]any) wrapper {
	return replace(isMCP, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		call := callOf(r)
		if !match(call) {
			next.ServeHTTP(w, r)
			return
		}
		a := capture(next, r)
		var all []map[string]any
		for _, data := range messages(a) {
			var msg map[string]any
			if json.Unmarshal(data, &msg) == nil && msg != nil {
				all = append(all, change(call, msg)...)
			}
		}
		a.Header().Set("Content-Type", "text/event-stream")
		a.Body.Reset()
		for _, msg := range all {
			if msg["result"] != nil {
				a.Status = http.StatusOK // a refused request may have another status
			}
			a.Body.WriteString(frame{name: "message", data: string(encode(msg))}.text())
		}
		a.Send(w, r)
	})
}

// messages returns the messages of a response, which is one message or a stream of them.
func messages(a *captured) [][]byte {
	if !strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
		return [][]byte{a.Body.Bytes()}
	}
	var all [][]byte
	events := sse.NewReader(bytes.NewReader(a.Body.Bytes()), 0)
	for {
		e, err := events.Next()
		if err != nil {
			return all
		}
		all = append(all, slices.Clone(e.Data))
	}
}

func calls(tool string) func(toolCall) bool {
	return func(c toolCall) bool { return c.method == "tools/call" && (tool == "" || c.tool == tool) }
}

func resultOf(msg map[string]any) map[string]any {
	result, _ := msg["result"].(map[string]any)
	return result
}

// editResult changes the results of calls of a tool, or of all tools if tool is empty.
func editResult(tool string, change func(c toolCall, result map[string]any)) wrapper {
	return editMessages(calls(tool), func(c toolCall, msg map[string]any) []map[string]any {
		if result := resultOf(msg); result != nil {
			change(c, result)
		}
		return []map[string]any{msg}
	})
}

// editPayloadOf changes the structured content of successful calls.
func editPayloadOf(tool string, change func(c toolCall, o map[string]any)) wrapper {
	return editResult(tool, func(c toolCall, result map[string]any) {
		if o, ok := result["structuredContent"].(map[string]any); ok && result["isError"] != true {
			change(c, o)
		}
	})
}

// editText changes the texts of results.
func editText(tool string, change func(text string) string) wrapper {
	return editResult(tool, func(_ toolCall, r map[string]any) {
		if list, _ := r["content"].([]any); len(list) > 0 {
			o := list[0].(map[string]any)
			o["text"] = change(textOf(o, "text"))
		}
	})
}

// editArguments changes the arguments of calls before the daemon sees them.
func editArguments(tool string, change func(args map[string]any)) wrapper {
	return before(func(r *http.Request) bool { return isMCP(r) && calls(tool)(callOf(r)) }, func(r *http.Request) {
		editBody(r, func(o map[string]any) {
			if args, ok := o["params"].(map[string]any)["arguments"].(map[string]any); ok {
				change(args)
			}
		})
	})
}

// editSchema changes the schema of a tool in the list of tools.
func editSchema(tool string, change func(schema, properties map[string]any)) wrapper {
	return editTools(func(list []any) []any {
		for _, item := range list {
			if o := item.(map[string]any); o["name"] == tool {
				schema := o["inputSchema"].(map[string]any)
				properties, _ := schema["properties"].(map[string]any)
				change(schema, properties)
			}
		}
		return list
	})
}

func editTools(change func(list []any) []any) wrapper {
	return editMessages(func(c toolCall) bool { return c.method == "tools/list" },
		func(_ toolCall, msg map[string]any) []map[string]any {
			if result := resultOf(msg); result != nil {
				result["tools"] = change(result["tools"].([]any))
			}
			return []map[string]any{msg}
		})
}

func failed(code string) map[string]any {
	return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": code + ": no"}},
		"structuredContent": map[string]any{"code": code, "message": "no"}}
}

func become(result, other map[string]any) {
	clear(result)
	for k, v := range other {
		result[k] = v
	}
}

// idsLike returns the ids of the checks that match one of the globs and none of the others.
func idsLike(globs []string, but ...string) []string {
	var ids []string
	for _, c := range requirements.All() {
		if matchesAny(globs, c.ID) && !matchesAny(but, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// nameOf returns the name of a tool, given that in the ids of checks.
func nameOf(tool string) string { return "memory_" + strings.ReplaceAll(tool, "-", "_") }

var (
	anyMCP = []string{"mcp-*"}
	// acceptedLimits are the checks of arguments at the limit.
	acceptedLimits = []string{
		"mcp-limit-search-query-4096", "mcp-limit-search-top-k-100", "mcp-limit-recall-top-k-50",
		"mcp-limit-ask-query-8192", "mcp-limit-create-brain-name-128",
	}
)

func mcpMutants() []mutant {
	return slices.Concat(mcpSchemaMutants(), mcpShapeMutants(), mcpTextMutants(), mcpErrorMutants(), mcpProgressMutants())
}

func mcpSchemaMutants() []mutant {
	all := []mutant{
		{"mcp-ten-tools", "there is no memory_reflect", editTools(func(list []any) []any {
			return slices.DeleteFunc(list, func(t any) bool { return t.(map[string]any)["name"] == "memory_reflect" })
		}), []string{"mcp-tools"}, nil},
		{"mcp-undescribed", "the tools have no descriptions", editTools(func(list []any) []any {
			for _, t := range list {
				delete(t.(map[string]any), "description")
			}
			return list
		}), []string{"mcp-descriptions"}, nil},
		{"mcp-limit-off", "a query of memory_search may have 4,097 characters",
			editSchema("memory_search", func(_, p map[string]any) { p["query"].(map[string]any)["maxLength"] = 4097 }),
			[]string{"mcp-schema-search"}, nil},
		{"mcp-default-off", "the default of top_k is 5",
			editSchema("memory_search", func(_, p map[string]any) { p["top_k"].(map[string]any)["default"] = 5 }),
			[]string{"mcp-schema-search"}, nil},
		{"mcp-nothing-required", "memory_ask requires no argument",
			editSchema("memory_ask", func(s, _ map[string]any) { delete(s, "required") }), []string{"mcp-schema-ask"}, nil},
		{"mcp-more-scopes", "memory_recall has the scope all",
			editSchema("memory_recall", func(_, p map[string]any) {
				p["scope"].(map[string]any)["enum"] = []string{"all", "global", "project", "agent"}
			}), []string{"mcp-schema-recall"}, nil},
		{"mcp-tags-unlimited", "a tag may have any length",
			editSchema("memory_remember", func(_, p map[string]any) {
				p["tags"].(map[string]any)["items"] = map[string]any{"type": "string"}
			}), []string{"mcp-schema-remember"}, nil},
		{"mcp-slug-unchecked", "a slug has no pattern",
			editSchema("memory_create_brain", func(_, p map[string]any) { delete(p["slug"].(map[string]any), "pattern") }),
			[]string{"mcp-schema-create-brain"}, nil},
		{"mcp-roles", "a message may have any role", editSchema("memory_extract", func(_, p map[string]any) {
			items := p["messages"].(map[string]any)["items"].(map[string]any)
			items["properties"].(map[string]any)["role"] = map[string]any{"type": "string"}
		}), []string{"mcp-schema-extract"}, nil},
	}
	for _, id := range idsLike([]string{"mcp-schema-*"}) {
		tool := strings.TrimPrefix(id, "mcp-schema-")
		all = append(all, mutant{"mcp-more-" + tool, tool + " has another argument",
			editSchema(nameOf(tool), func(s, p map[string]any) {
				if p == nil {
					p = map[string]any{}
					s["properties"] = p
				}
				p["colour"] = map[string]any{"type": "string"}
			}), []string{id}, nil})
	}
	return all
}

func mcpShapeMutants() []mutant {
	called := idsLike([]string{"mcp-*-called"}, "mcp-ingest-*")
	all := []mutant{
		{"mcp-textless", "results have no text", editResult("", func(_ toolCall, r map[string]any) { r["content"] = []any{} }),
			called, []string{"mcp-*-text", "mcp-*-no-brain"}},
	}
	for _, id := range called {
		tool := strings.TrimSuffix(strings.TrimPrefix(id, "mcp-"), "-called")
		if tool == "create-brain" {
			continue // without it there is no brain to check anything in
		}
		all = append(all, mutant{"mcp-failing-" + tool, tool + " fails",
			editResult(nameOf(tool), func(_ toolCall, r map[string]any) { become(r, failed("internal_error")) }), []string{id}, anyMCP})
	}
	type edit = func(c toolCall, o map[string]any)
	drop := func(name string) edit { return func(_ toolCall, o map[string]any) { delete(o, name) } }
	replaceBy := func(name string, v any) edit { return func(_ toolCall, o map[string]any) { o[name] = v } }
	for _, m := range []struct {
		name, defect, tool string
		change             edit
		caught             []string
	}{
		{"mcp-search-time", "memory_search does not say how long it took", "memory_search", drop("took_ms"),
			[]string{"mcp-search-shape"}},
		{"mcp-search-null", "the hits of memory_search are null if there are none", "memory_search",
			func(_ toolCall, o map[string]any) {
				if list, _ := o["hits"].([]any); len(list) == 0 {
					o["hits"] = nil
				}
			}, []string{"mcp-search-hits-empty"}},
		{"mcp-recall-brain", "memory_recall does not say in which brain", "memory_recall", drop("brain_id"),
			[]string{"mcp-recall-shape"}},
		{"mcp-recall-hits", "memory_recall returns hits for a session", "memory_recall", func(_ toolCall, o map[string]any) {
			if o["chunks"] != nil {
				o["hits"] = o["chunks"]
				delete(o, "chunks")
			}
		}, []string{"mcp-recall-session-shape"}},
		{"mcp-remember-nested", "memory_remember returns the record under document", "memory_remember",
			func(_ toolCall, o map[string]any) {
				inner := map[string]any{}
				for k, v := range o {
					inner[k] = v
				}
				clear(o)
				o["document"] = inner
			}, []string{"mcp-remember-shape"}},
		{"mcp-remember-tag-list", "tags are a list", "memory_remember", func(_ toolCall, o map[string]any) {
			if m, ok := o["metadata"].(map[string]any); ok && m["tags"] != nil {
				m["tags"] = strings.Split(m["tags"].(string), ",")
			}
		}, []string{"mcp-remember-tags"}},
		{"mcp-remember-path-title", "the title is the path", "memory_remember",
			func(_ toolCall, o map[string]any) { o["title"] = o["path"] }, []string{"mcp-remember-title"}},
		{"mcp-extract-modeless", "memory_extract does not say its mode", "memory_extract", drop("mode"),
			[]string{"mcp-extract-transcript", "mcp-extract-session"}},
		{"mcp-extract-metadata", "memory_extract returns metadata", "memory_extract", func(_ toolCall, o map[string]any) {
			list, _ := o["messages"].([]any)
			for _, item := range list {
				item.(map[string]any)["metadata"] = map[string]any{"actor_id": "ana"}
			}
		}, []string{"mcp-extract-no-metadata"}},
		{"mcp-reflect-date", "ended_at is a date", "memory_reflect", replaceBy("ended_at", "2024-05-01"),
			[]string{"mcp-reflect-shape"}},
		{"mcp-consolidate-resultless", "memory_consolidate returns no result", "memory_consolidate", drop("result"),
			[]string{"mcp-consolidate-shape"}},
		{"mcp-brain-shouts", "slugs are in upper case", "memory_create_brain", func(_ toolCall, o map[string]any) {
			o["slug"] = strings.ToUpper(textOf(o, "slug"))
		}, []string{"mcp-create-brain-shape"}},
		{"mcp-brain-public", "brains are public by default", "memory_create_brain", func(_ toolCall, o map[string]any) {
			if o["visibility"] == "private" {
				o["visibility"] = "public"
			}
		}, []string{"mcp-create-brain-private"}},
		{"mcp-brain-private", "all brains are private", "memory_create_brain", replaceBy("visibility", "private"),
			[]string{"mcp-create-brain-visibility"}},
		{"mcp-list-names", "memory_list_brains lists names only", "memory_list_brains", func(_ toolCall, o map[string]any) {
			list, _ := o["items"].([]any)
			for _, item := range list {
				delete(item.(map[string]any), "slug")
			}
		}, []string{"mcp-list-brains-shape"}},
		{"mcp-list-old", "memory_list_brains lists another brain only", "memory_list_brains", replaceBy("items",
			[]any{map[string]any{"id": "old", "slug": "old", "name": "Old", "visibility": "private"}}),
			[]string{"mcp-list-brains-created"}},
		{"mcp-ask-retrieved", "memory_ask does not return what it retrieved", "memory_ask", drop("retrieved"),
			[]string{"mcp-ask-shape"}},
	} {
		all = append(all, mutant{m.name, m.defect, editPayloadOf(m.tool, m.change), m.caught, anyMCP})
	}
	return append(all,
		mutant{"mcp-unstructured", "memory_search returns no structured content",
			editResult("memory_search", func(_ toolCall, r map[string]any) { delete(r, "structuredContent") }),
			[]string{"mcp-search-called", "mcp-search-hits-empty"}, anyMCP},
		mutant{"mcp-search-top-k-ignored", "memory_search ignores top_k",
			editArguments("memory_search", func(args map[string]any) { delete(args, "top_k") }),
			[]string{"mcp-search-top-k", "mcp-limit-search-top-k-0", "mcp-limit-search-top-k-101"}, nil},
		mutant{"mcp-remember-forgets", "memory_remember stores another text",
			editArguments("memory_remember", func(args map[string]any) {
				if s := textOf(args, "content"); strings.Contains(s, "grandfather") {
					args["content"] = "Another text."
				}
			}), []string{"mcp-remember-found"}, nil},
	)
}

func mcpTextMutants() []mutant {
	return []mutant{
		{"mcp-search-numbered", "memory_search numbers its hits 1., 2., …",
			editText("memory_search", func(s string) string { return strings.ReplaceAll(s, "#", "") }),
			[]string{"mcp-search-text", "mcp-search-text-five"}, nil},
		{"mcp-search-six", "the text of memory_search has six hits",
			editText("memory_search", func(s string) string { return s + "\n\n#6 score=0.1 a.md\na" }),
			[]string{"mcp-search-text-five"}, nil},
		{"mcp-search-contentless", "the text of memory_search has no content", editText("memory_search", func(s string) string {
			line, _, _ := strings.Cut(s, "\n")
			return line
		}), []string{"mcp-search-text"}, []string{"mcp-search-text-five"}},
		{"mcp-reflect-brief", "the text of memory_reflect is done",
			editText("memory_reflect", func(string) string { return "done" }), []string{"mcp-reflect-text"}, nil},
	}
}

func mcpErrorMutants() []mutant {
	noBrain := idsLike([]string{"mcp-*-no-brain"}, "mcp-ingest-file-*")
	isError := func(r map[string]any) bool { return r["isError"] == true }
	tolerant := editMessages(calls(""), func(c toolCall, msg map[string]any) []map[string]any {
		if r := resultOf(msg); r == nil || isError(r) {
			delete(msg, "error")
			msg["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "ok"}},
				"structuredContent": map[string]any{}}
		}
		return []map[string]any{msg}
	})
	strict := editResult("", func(c toolCall, r map[string]any) {
		n, _ := c.args["top_k"].(float64)
		if len(textOf(c.args, "query")) > 1000 || len(textOf(c.args, "name")) > 100 || n >= 50 {
			become(r, failed("validation_error"))
		}
	})
	return []mutant{
		{"mcp-not-found", "the code of a brain that does not exist is not_found", editResult("", func(_ toolCall, r map[string]any) {
			if isError(r) {
				become(r, failed("not_found"))
			}
		}), noBrain, anyMCP},
		{"mcp-default-fails", "a call without brain fails with an unknown code",
			editResult("memory_search", func(c toolCall, r map[string]any) {
				if c.args["brain"] == nil {
					become(r, failed("boom"))
				}
			}), []string{"mcp-default-brain"}, nil},
		{"mcp-tolerant", "no call is an error", tolerant, slices.Concat(noBrain,
			idsLike([]string{"mcp-limit-*"}, acceptedLimits...),
			[]string{"mcp-remember-path-400"}), anyMCP},
		{"mcp-strict", "calls with long texts or a top_k from 50 are errors", strict, acceptedLimits, nil},
	}
}

func mcpProgressMutants() []mutant {
	isProgress := func(msg map[string]any) bool { return msg["method"] == "notifications/progress" }
	editProgress := func(change func(params map[string]any)) wrapper {
		return editMessages(calls("memory_ask"), func(_ toolCall, msg map[string]any) []map[string]any {
			if params, ok := msg["params"].(map[string]any); ok && isProgress(msg) {
				change(params)
			}
			return []map[string]any{msg}
		})
	}
	add := func(which func(c toolCall, token any) bool) wrapper {
		return editMessages(calls(""), func(c toolCall, msg map[string]any) []map[string]any {
			meta, _ := c.params["_meta"].(map[string]any)
			if token := meta["progressToken"]; !isProgress(msg) && which(c, token) {
				if token == nil {
					token = "made-up"
				}
				extra := map[string]any{"jsonrpc": "2.0", "method": "notifications/progress",
					"params": map[string]any{"progressToken": token, "progress": 0, "message": "…"}}
				return []map[string]any{extra, msg}
			}
			return []map[string]any{msg}
		})
	}
	return []mutant{
		{"mcp-progress-none", "memory_ask sends no progress",
			editMessages(calls("memory_ask"), func(_ toolCall, msg map[string]any) []map[string]any {
				if isProgress(msg) {
					return nil
				}
				return []map[string]any{msg}
			}), []string{"mcp-progress-sent"}, nil},
		{"mcp-progress-token-cut", "the progress token is cut", editProgress(func(p map[string]any) { p["progressToken"] = "t" }),
			[]string{"mcp-progress-token"}, []string{"mcp-progress-sent"}},
		{"mcp-progress-from-1", "progress counts from 1", editProgress(func(p map[string]any) {
			p["progress"] = p["progress"].(float64) + 1
		}), []string{"mcp-progress-counter"}, nil},
		{"mcp-progress-total", "progress has a total", editProgress(func(p map[string]any) { p["total"] = 10 }),
			[]string{"mcp-progress-counter"}, nil},
		{"mcp-progress-shouts", "messages of progress are in upper case", editProgress(func(p map[string]any) {
			p["message"] = strings.ToUpper(textOf(p, "message"))
		}), []string{"mcp-progress-message"}, nil},
		{"mcp-progress-unasked", "progress is sent without a token", add(func(c toolCall, token any) bool {
			return token == nil && c.tool == "memory_ask"
		}), []string{"mcp-progress-unasked"}, nil},
		{"mcp-progress-unasked-recall", "memory_recall sends progress without a token", add(func(c toolCall, token any) bool {
			return token == nil && c.tool == "memory_recall"
		}), []string{"mcp-progress-recall-silent"}, nil},
		{"mcp-progress-everywhere", "all tools send progress", add(func(c toolCall, token any) bool {
			return token != nil && c.tool != "memory_ask"
		}), idsLike([]string{"mcp-progress-*-silent"}), nil},
	}
}
