package requirements

import "slices"

// ownChoices are globs over the ids of checks for decisions of the reference daemon where the
// specification leaves the matter open. They run only against the reference daemon, because another
// daemon may decide otherwise.
var ownChoices = []string{
	// The specification has the fields of a brain, but no endpoint for it.
	"brains-create-*", "brains-get-*", "brains-list-*", "brains-delete-*", "brains-health-ok", "brains-health-open",
	// HTTP itself, and the case of similar names.
	"documents-put-chunked", "batch-charset", "errors-put-type-case", "errors-rename-type-charset", "auth-scheme-case",
	"headers-user-agent-missing", "errors-version-404", "errors-method-*", "errors-route-404",
	// Spellings and unknown keys.
	"batch-camel-case", "batch-unknown-key",
	// Parameters of a request: the specification covers paths, but not their number or length.
	"paths-twice-400", "paths-malformed-400", "paths-1025-400",
	// The order of characters beyond a to z, and folders without documents.
	"listing-sorted-bytewise", "listing-glob-case", "listing-dir-missing-empty", "listing-after-last",
	// A daemon may have larger limits. The limits of queries are defined only for the tools.
	"limits-put-over-413", "limits-append-over-413", "limits-put-chunked-413", "limits-batch-8mib-over-413",
	"limits-batch-1025-ops-413", "limits-listing-over-whole", "limits-search-*-400", "limits-ask-*-400",
	// Spec 7.1 lists the endpoints for each code. All fields of a Problem are optional.
	"errors-code-read-path", "errors-code-batch-missing", "errors-title", "errors-detail", "headers-read-missing-no-store",
	"events-brain-missing",
	// Records: the endpoint that creates one is in the specification; reading, listing and deleting
	// them, their request and their limits are not.
	"records-create-201", "records-byte-size-as-read", "records-checksum-as-read", "records-tags", "records-source-given",
	"records-path-*", "records-get-*", "records-list", "records-list-*", "records-brains-apart", "records-delete-*",
	"records-*-400", "records-content-above-limit", "records-type-415", "records-brain-missing",
	// Searches: the specification has the names of modes and the fields of a hit.
	"search-query*", "search-brain-id", "search-took-ms", "search-chunks*", "search-chunk-text", "search-chunk-id",
	"search-chunk-document-id", "search-chunk-brain-id", "search-chunk-metadata", "search-scores-descend",
	"search-mode", "search-mode-default", "search-mode-unknown-400", "search-mode-number-400", "search-mode-*-honest",
	"search-effective-mode*", "search-components", "search-explanation*", "search-highlights*", "search-text-*",
	"search-top-k-camel-case", "search-top-k-text-400", "search-spellings-*", "search-unknown-key", "search-get*",
	"search-json-*", "search-brain-missing", "search-candidate-k-*", "search-rerank-top-n-*", "search-scope-*",
	"search-sort-*", "search-question-date-*", "search-filter*", "search-generated-*", "search-at-once-*",
	"search-anywhere", "search-accents", "search-folding-*", "search-case", "search-stemming", "search-same-text",
	"search-collapsed", "search-similar-text",
	// Asks: the specification has the names of the events, but not the request or the fields of
	// done.
	"ask-retrieve-first", "ask-retrieve-mode*", "ask-done-ok", "ask-done-model", "ask-done-usage", "ask-done-took-ms",
	"ask-citation-whole-words", "ask-question-*", "ask-query-key", "ask-top-k-camel-case", "ask-reader-mode*",
	"ask-mode-unknown-400", "ask-spellings-disagree-400", "ask-json-invalid-400", "ask-brain-missing", "ask-filter*",
	"ask-scope*",
	// Sessions: the specification has the endpoint of messages, but neither of recall and
	// reflection, nor which requests are rejected.
	"sessions-message-201", "sessions-brain-missing", "sessions-message-found", "sessions-*-400",
	"sessions-content-over-limit", "sessions-recall-*", "sessions-reflect-*",
	// Ingests: the specification has neither the request nor the allowed addresses.
	"ingest-file-status", "ingest-form", "ingest-reused", "ingest-changed-not-reused", "ingest-html-found",
	"ingest-markdown-content", "ingest-as*", "ingest-same-name", "ingest-pdf-broken", "ingest-json-broken",
	"ingest-extension-unknown", "ingest-*-400", "ingest-url-*", "ingest-25mib-over-*", "ingest-queued-completes",
	// Tools: the result of a second reflection, another tool, and an address that is not fetched.
	"mcp-reflect-again", "mcp-tool-unknown", "mcp-ingest-url-private", "mcp-ingest-file-missing",
}

// markOwn marks the checks of ownChoices.
func markOwn(checks []check) []check {
	for i, c := range checks {
		checks[i].Own = slices.ContainsFunc(ownChoices, func(glob string) bool { return c.Matches(glob) })
	}
	return checks
}
