package requirements

import (
	"slices"
	"strings"

	"evalctl/daemon/protocol"
)

// mcpLimitChecks send arguments that violate the schemas.
func mcpLimitChecks() []check {
	long := func(n int) string { return strings.Repeat("x", n) }
	lines := slices.Repeat([]string{"x"}, protocol.MaxSessionMessages+1)
	rows := []struct {
		id, what, tool string
		args           object
	}{
		{"search-query-empty", "an empty query", "memory_search", object{"query": ""}},
		{"search-query-4097", "a query of 4,097 characters", "memory_search", object{"query": long(protocol.MaxSearchQuery + 1)}},
		{"search-query-missing", "no query", "memory_search", object{}},
		{"search-top-k-0", "a top_k of 0", "memory_search", object{"query": "x", "top_k": 0}},
		{"search-top-k-101", "a top_k of 101", "memory_search", object{"query": "x", "top_k": 101}},
		{"search-scope-unknown", "an unknown scope", "memory_search", object{"query": "x", "scope": "galactic"}},
		{"search-sort-unknown", "an unknown sort", "memory_search", object{"query": "x", "sort": "alphabet"}},
		{"search-query-number", "a query that is a number", "memory_search", object{"query": 5}},
		{"recall-top-k-51", "a top_k of 51", "memory_recall", object{"query": "x", "top_k": 51}},
		{"recall-scope-all", "the scope all", "memory_recall", object{"query": "x", "scope": "all"}},
		{"recall-query-4097", "a query of 4,097 characters", "memory_recall", object{"query": long(protocol.MaxSearchQuery + 1)}},
		{"remember-content-empty", "empty content", "memory_remember", object{"content": ""}},
		{"remember-content-missing", "no content", "memory_remember", object{"title": "x"}},
		{"remember-title-513", "a title of 513 characters", "memory_remember",
			object{"content": "x", "title": long(protocol.MaxDocumentTitle + 1)}},
		{"remember-title-empty", "an empty title", "memory_remember", object{"content": "x", "title": ""}},
		{"remember-path-1025", "a path of 1,025 characters", "memory_remember",
			object{"content": "x", "path": longPath(protocol.MaxDocumentPath + 1)}},
		{"remember-tags-65", "65 tags", "memory_remember", object{"content": "x", "tags": tooManyTags()}},
		{"remember-tag-65", "a tag of 65 characters", "memory_remember",
			object{"content": "x", "tags": []string{long(protocol.MaxDocumentTag + 1)}}},
		{"remember-tag-empty", "an empty tag", "memory_remember", object{"content": "x", "tags": []string{""}}},
		{"ingest-file-as-unknown", "an unknown as", "memory_ingest_file", object{"path": "a.md", "as": "spreadsheet"}},
		{"ingest-url-missing", "no url", "memory_ingest_url", object{}},
		{"ingest-url-invalid", "a url that is not one", "memory_ingest_url", object{"url": "not a url"}},
		{"extract-messages-none", "no messages", "memory_extract", object{"messages": []any{}}},
		{"extract-messages-501", "501 messages", "memory_extract", object{"messages": speech(lines...)}},
		{"extract-role-unknown", "an unknown role", "memory_extract",
			object{"messages": []object{{"role": "narrator", "content": "x"}}}},
		{"extract-content-empty", "an empty message", "memory_extract",
			object{"messages": []object{{"role": "user", "content": ""}}}},
		{"reflect-session-empty", "an empty session_id", "memory_reflect", object{"session_id": ""}},
		{"create-brain-name-129", "a name of 129 characters", "memory_create_brain",
			object{"name": long(protocol.MaxBrainName + 1)}},
		{"create-brain-name-empty", "an empty name", "memory_create_brain", object{"name": ""}},
		{"create-brain-slug-65", "a slug of 65 characters", "memory_create_brain",
			object{"name": "x", "slug": long(protocol.MaxBrainSlug + 1)}},
		{"create-brain-slug-invalid", "a slug with capitals", "memory_create_brain", object{"name": "x", "slug": "No Slug"}},
		{"create-brain-visibility-unknown", "an unknown visibility", "memory_create_brain",
			object{"name": "x", "visibility": "secret"}},
		{"ask-query-8193", "a query of 8,193 characters", "memory_ask", object{"query": long(protocol.MaxAskQuery + 1)}},
		{"ask-query-empty", "an empty query", "memory_ask", object{"query": ""}},
		{"ask-top-k-51", "a top_k of 51", "memory_ask", object{"query": "x", "top_k": 51}},
	}
	var checks []check
	for _, r := range rows {
		checks = append(checks, should("mcp-limit-"+r.id, "8", r.tool+" with "+r.what+" is an error.",
			calling(r.tool, r.args, fails)))
	}
	accepted := func(id, what, tool string, args object) check {
		return should("mcp-limit-"+id, "8", tool+" accepts "+what+".", calling(tool, args, succeeds))
	}
	return append(checks,
		accepted("search-query-4096", "a query of 4,096 characters", "memory_search",
			object{"query": kettleText(protocol.MaxSearchQuery)}),
		accepted("search-top-k-100", "a top_k of 100", "memory_search", object{"query": "x", "top_k": 100}),
		accepted("recall-top-k-50", "a top_k of 50", "memory_recall", object{"query": "x", "top_k": 50}),
		accepted("ask-query-8192", "a query of 8,192 characters", "memory_ask", object{"query": kettleText(protocol.MaxAskQuery)}),
		accepted("create-brain-name-128", "a name of 128 characters", "memory_create_brain",
			object{"name": "{new}" + long(protocol.MaxBrainName-len(newBrainName()))}),
	)
}
