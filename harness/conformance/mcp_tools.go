package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/mcpclient"
	"evalctl/daemon/protocol"
)

func mcpChecks() []check {
	return slices.Concat(
		requiring(needMCP, slices.Concat(mcpSchemaChecks(), mcpShapeChecks(), mcpTextChecks(), mcpEffectChecks(),
			mcpErrorChecks(), mcpLimitChecks(), mcpProgressChecks())...),
		requiring(needLocalMCP, mcpFileChecks()...))
}

// recordFields are those of a DocumentRecord (spec 2).
var recordFields = map[string]matcher{
	"id": isNonEmptyString, "brain_id": isNonEmptyString, "title": isNonEmptyString, "path": isNonEmptyString,
	"source": isNonEmptyString, "content_type": isNonEmptyString, "byte_size": isCount,
	"checksum_sha256": matchesPattern(`^[0-9a-f]{64}$`), "metadata": isObject,
	"commit_sha": matchesPattern(`^[0-9a-f]{7,64}$`), "created_at": isTimestamp, "updated_at": isTimestamp,
	"deleted_at": func(got any) error {
		if got == nil {
			return nil
		}
		return isTimestamp(got)
	},
}

var brainFields = map[string]matcher{
	"id": isNonEmptyString, "slug": isSlug, "name": isNonEmptyString,
	"visibility": matchesPattern(`^(private|tenant|public)$`),
}

var citationFields = map[string]matcher{
	"type": equals("citation"), "chunk_id": isNonEmptyString, "document_id": isNonEmptyString,
	"answer_start": isCount, "answer_end": isCount, "quote": isString,
}

var retrievedFields = map[string]matcher{
	"chunk_id": isNonEmptyString, "document_id": isNonEmptyString, "score": isNumber,
	"preview": match("at most 512 characters", func(s string) bool {
		return utf8.RuneCountInString(s) <= protocol.MaxPreviewChars
	}),
}

var messageFields = map[string]matcher{
	"id": isNonEmptyString, "session_id": isNonEmptyString, "role": isNonEmptyString, "content": isNonEmptyString,
	"created_at": isTimestamp,
}

// fields matches an object.
func fields(of map[string]matcher) matcher {
	return func(got any) error {
		o, _ := got.(object)
		return matchFields(o, of)
	}
}

// remembered stores a document about an animal that no other check uses, and waits until a search
// finds it.
func remembered(animal string) step {
	return setup(
		calling("memory_remember", object{"content": "# " + animal + "\n\nThe " + animal + " sleeps under the red boat.\n"}, succeeds),
		awaitHit(animal))
}

// awaitHit waits until memory_search finds a word.
func awaitHit(word string) step {
	return withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
		var last *reply
		done, err := poll(ctx, c.target.within(indexedWithin), func() (bool, error) {
			r, err := callTool(ctx, m, "memory_search", c.inToolBrain("memory_search", object{"query": word}))
			if err == nil {
				err = r.given()
			}
			if err != nil {
				return false, err
			}
			last = r
			hits, _ := r.payload["hits"].([]any)
			return len(hits) > 0, nil
		})
		if err == nil && !done {
			err = brokenf("search for %q: want a hit, but %s: %w", word, last, errSilence)
		}
		return err
	})
}

func speech(lines ...string) []object {
	var all []object
	for i, line := range lines {
		role := protocol.RoleUser
		if i%2 == 1 {
			role = protocol.RoleAssistant
		}
		all = append(all, object{"role": role, "content": line})
	}
	return all
}

// session is a session that only one check uses.
const session = "{new}"

// inSession are arguments of memory_extract.
func inSession(lines ...string) object {
	return object{"session_id": session, "messages": speech(lines...)}
}

// toolCalls are calls that succeed, one for each tool that needs neither a file nor the network.
func toolCalls() []struct {
	tool string
	args object
	prep step
} {
	nothing := setup()
	return []struct {
		tool string
		args object
		prep step
	}{
		{"memory_search", object{"query": "anything"}, nothing},
		{"memory_recall", object{"query": "anything"}, nothing},
		{"memory_remember", object{"content": "# A note\n\nRemembered.\n"}, nothing},
		{"memory_extract", object{"messages": speech("I live in Oslo.", "Noted.")}, nothing},
		{"memory_reflect", object{"session_id": session},
			preparing("memory_extract", inSession("Hello.", "Hello, how can I help?"))},
		{"memory_create_brain", object{"name": "{new}"}, nothing},
		{"memory_list_brains", object{}, nothing},
		{"memory_ask", object{"query": "What is remembered?"}, nothing},
	}
}

func toolID(tool string) string { return toolSchema{name: tool}.idOf() }

// mcpShapeChecks are about the structured content of calls that succeed.
func mcpShapeChecks() []check {
	searchFields := map[string]matcher{
		"query": isNonEmptyString, "brain_id": isNonEmptyString, "took_ms": isNumber,
		"hits": nonEmpty(eachIn(map[string]matcher{"score": isNumber, "path": isNonEmptyString, "content": isString})),
	}
	var checks []check
	for _, call := range toolCalls() {
		checks = append(checks, must("mcp-"+toolID(call.tool)+"-called", "4.1",
			call.tool+" can be called, and returns structured content and a text.", call.prep,
			creating(call.tool, call.args, func(r *reply) error {
				switch err := succeeds(r); {
				case err != nil:
					return err
				case r.payload == nil:
					return errors.New("want an object as structured content, got none")
				case strings.TrimSpace(r.Text) == "":
					return onEveryRoute("returned no text", "want a text, got none")
				}
				return nil
			})))
	}
	return append(checks,
		must("mcp-search-shape", "4.1", "memory_search returns query, brain_id, took_ms, and hits with score, path and content.",
			remembered("tortoise"), calling("memory_search", object{"query": "tortoise"}, payloadHas(searchFields))),
		must("mcp-search-hits-empty", "4.1", "The hits of memory_search are an array even if there are none.",
			calling("memory_search", object{"query": "zzyzx"}, payloadHas(map[string]matcher{"hits": isArray}))),
		must("mcp-search-top-k", "4.1", "top_k limits the hits of memory_search.",
			remembered("lobster"), preparing("memory_remember", object{"content": "A second lobster."}),
			calling("memory_search", object{"query": "lobster", "top_k": 1}, payloadHas(map[string]matcher{
				"hits": match("one hit", func(list []any) bool { return len(list) == 1 })}))),
		must("mcp-recall-shape", "4.1", "Without session_id, memory_recall returns what memory_search returns.",
			remembered("heron"), calling("memory_recall", object{"query": "heron"}, payloadHas(searchFields))),
		must("mcp-recall-session-shape", "4.1", "With session_id, memory_recall returns chunks.",
			preparing("memory_extract", inSession("Where is the boat?")),
			calling("memory_recall", object{"query": "boat", "session_id": session},
				payloadHas(map[string]matcher{"chunks": isArray}))),
		must("mcp-remember-shape", "2", "memory_remember returns a DocumentRecord at the top level.",
			calling("memory_remember", object{"content": "# Owl\n\nThe owl.\n"}, payloadHas(recordFields))),
		must("mcp-remember-tags", "2", "The tags of memory_remember are one string in metadata, joined by commas.",
			calling("memory_remember", object{"content": "Tagged.", "tags": []string{"tea", "two words"}},
				payloadHas(map[string]matcher{"metadata": fields(map[string]matcher{"tags": equals("tea,two words")})}))),
		must("mcp-remember-title", "4.1", "Without title, memory_remember uses the first heading.",
			calling("memory_remember", object{"content": "text\n\n## Green tea\n\n# Other\n"},
				payloadHas(map[string]matcher{"title": equals("Green tea")}))),
		must("mcp-extract-transcript", "4.1", "Without session_id, memory_extract returns mode transcript and a document.",
			calling("memory_extract", object{"messages": speech("I moved to Bergen.")},
				payloadHas(map[string]matcher{"mode": equals("transcript"), "document": fields(recordFields)}))),
		must("mcp-extract-session", "4.1", "With session_id, memory_extract returns mode session and a record of each message.",
			calling("memory_extract", inSession("One.", "Two.", "Three."), payloadHas(map[string]matcher{
				"mode":     equals("session"),
				"messages": both(match("3 messages", func(l []any) bool { return len(l) == 3 }), eachIn(messageFields)),
			}))),
		must("mcp-extract-no-metadata", "2", "The records of messages have no metadata.",
			calling("memory_extract", object{"session_id": session, "actor_id": "ana",
				"messages": speech("One.", "Two.")}, payloadHas(map[string]matcher{"messages": withoutMetadata}))),
		must("mcp-reflect-shape", "4.1", "memory_reflect returns reflection_status and reflection_attempted, and ended_at with an offset.",
			preparing("memory_extract", inSession("Please fix the boat.", "The boat is fixed.")),
			calling("memory_reflect", object{"session_id": session}, reflected)),
		must("mcp-consolidate-shape", "4.1", "memory_consolidate returns a result, or the error not_implemented.",
			calling("memory_consolidate", object{}, func(r *reply) error {
				if r.hasCode(protocol.CodeNotImplemented) {
					return nil
				}
				if err := succeeds(r); err != nil {
					return err
				}
				return matchFields(r.payload, map[string]matcher{"result": anything})
			})),
		must("mcp-create-brain-shape", "4.1", "memory_create_brain returns id, slug, name and visibility.",
			creating("memory_create_brain", object{"name": "{new} & More"}, payloadHas(brainFields))),
		must("mcp-create-brain-private", "4.1", "The default visibility of memory_create_brain is private.",
			creating("memory_create_brain", object{"name": "{new}"},
				payloadHas(map[string]matcher{"visibility": equals("private")}))),
		must("mcp-create-brain-visibility", "4.1", "memory_create_brain returns the visibility in the arguments.",
			creating("memory_create_brain", object{"name": "{new}", "visibility": "tenant"},
				payloadHas(map[string]matcher{"visibility": equals("tenant")}))),
		must("mcp-list-brains-shape", "4.1", "memory_list_brains returns items with id, slug, name and visibility.",
			calling("memory_list_brains", object{}, payloadHas(map[string]matcher{"items": nonEmpty(eachIn(brainFields))}))),
		must("mcp-ask-shape", "4.1", "memory_ask returns answer, citations and retrieved.",
			remembered("pelican"), calling("memory_ask", object{"query": "Where does the pelican sleep?"},
				payloadHas(map[string]matcher{"answer": isString, "citations": eachIn(citationFields),
					"retrieved": nonEmpty(eachIn(retrievedFields))}))),
	)
}

func anything(any) error { return nil }

func both(a, b matcher) matcher {
	return func(got any) error { return errors.Join(a(got), b(got)) }
}

func withoutMetadata(got any) error {
	list, _ := got.([]any)
	for _, item := range list {
		if o, _ := item.(object); o["metadata"] != nil {
			return fmt.Errorf("want no metadata, got %s", excerpt(encode(item)))
		}
	}
	return nil
}

func reflected(r *reply) error {
	if err := r.given(); err != nil {
		return err
	}
	err := matchFields(r.payload, map[string]matcher{"reflection_status": isNonEmptyString, "reflection_attempted": isBool})
	if err == nil && r.payload["ended_at"] != nil {
		err = matchField(r.payload, "ended_at", isTimestamp)
	}
	if err == nil && r.payload["reflection"] != nil {
		err = reflectionFields(r.payload["reflection"])
	}
	return err
}

// creating is calling for a tool that may create a brain. The brain is deleted afterwards, if the
// daemon's API is known.
func creating(tool string, args object, judge func(*reply) error) step {
	return func(ctx context.Context, c *client) error {
		return calling(tool, args, func(r *reply) error {
			if id, ok := r.payload["id"].(string); ok && tool == "memory_create_brain" {
				c.target.deleteBrain(ctx, id)
			}
			return judge(r)
		})(ctx, c)
	}
}

func mcpTextChecks() []check {
	return []check{
		must("mcp-search-text", "4.1", "The text of memory_search lists the hits, each as #N score=S path and its content.",
			remembered("badger"), calling("memory_search", object{"query": "badger"}, func(r *reply) error {
				if err := r.given(); err != nil {
					return err
				}
				hits, _ := r.payload["hits"].([]any)
				if len(hits) == 0 {
					return optional("a hit")
				}
				first, _ := hits[0].(object)
				path, _ := first["path"].(string)
				content, _ := first["content"].(string)
				line, rest, _ := strings.Cut(r.Text, "\n")
				if !strings.HasPrefix(line, "#1 score=") || !strings.HasSuffix(line, " "+path) {
					return fmt.Errorf("want #1 score=S %s, got %q", path, line)
				}
				if begin := firstRunes(content, 320); !strings.HasPrefix(strings.TrimSpace(rest), strings.TrimSpace(begin)) {
					return fmt.Errorf("want the first 320 characters of the content below %q, got %s", line, excerpt([]byte(rest)))
				}
				return nil
			})),
		must("mcp-search-text-five", "4.1", "The text of memory_search lists at most five hits.",
			sevenNotes, calling("memory_search", object{"query": "wombat", "top_k": 10}, func(r *reply) error {
				if err := r.given(); err != nil {
					return err
				}
				if hits, _ := r.payload["hits"].([]any); len(hits) < 6 {
					return optional(fmt.Sprintf("six hits: it returned %d", len(hits)))
				}
				if !strings.Contains(r.Text, "#5 score=") || strings.Contains(r.Text, "#6 score=") {
					return fmt.Errorf("want the hits #1 to #5, got %s", excerpt([]byte(r.Text)))
				}
				return nil
			})),
		must("mcp-reflect-text", "4.1", "The text of memory_reflect has the time at which the session ended.",
			preparing("memory_extract", inSession("Please fix the bike.", "The bike is fixed.")),
			calling("memory_reflect", object{"session_id": session}, func(r *reply) error {
				if err := r.given(); err != nil {
					return err
				}
				ended, _ := r.payload["ended_at"].(string)
				if ended == "" {
					return optional("ended_at")
				}
				if !strings.Contains(r.Text, ended) {
					return fmt.Errorf("want %s in the text, got %s", ended, excerpt([]byte(r.Text)))
				}
				return nil
			})),
	}
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

// sevenNotes are found by the same word.
func sevenNotes(ctx context.Context, c *client) error {
	for i := range 7 {
		text := fmt.Sprintf("# Wombat %d\n\nThe wombat number %d digs in field %d%d.\n", i, i, i, i)
		if err := preparing("memory_remember", object{"content": text})(ctx, c); err != nil {
			return err
		}
	}
	return setup(awaitHit("wombat"))(ctx, c)
}

func mcpEffectChecks() []check {
	return []check{
		must("mcp-remember-found", "1", "memory_search finds what memory_remember stored.",
			preparing("memory_remember", object{"content": "# Clock\n\nThe grandfather clock stopped.\n"}),
			awaitHit("grandfather")),
		should("mcp-list-brains-created", "4.1", "memory_list_brains lists the brain that the checks created.",
			withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
				return calling("memory_list_brains", object{}, payloadHas(map[string]matcher{"items": func(got any) error {
					list, _ := got.([]any)
					if !slices.ContainsFunc(list, func(item any) bool { o, _ := item.(object); return o["id"] == c.brain }) {
						return fmt.Errorf("want the brain %s, got %s", c.brain, excerpt(encode(got)))
					}
					return nil
				}}))(ctx, c)
			})),
		should("mcp-reflect-again", "3", "memory_reflect of a session that ended returns the same ended_at.",
			preparing("memory_extract", inSession("Hello.", "Hello, how can I help?")), reflectAgain),
		should("mcp-default-brain", "1", "A call without brain uses a default brain, or returns the error no_brain.",
			withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
				r, err := callTool(ctx, m, "memory_search", object{"query": "anything"})
				if err == nil && r.isError() && !r.hasCode(protocol.CodeNoBrain) {
					// The default brain may be that of another check, which deletes it.
					err = brokenf("want a result or the error no_brain, but %s: %w", r, errDisturbed)
				}
				return err
			})),
	}
}

func reflectAgain(ctx context.Context, c *client) error {
	var first any
	args := object{"session_id": session}
	return c.run(ctx,
		calling("memory_reflect", args, func(r *reply) error { first = r.payload["ended_at"]; return r.given() }),
		calling("memory_reflect", args, func(r *reply) error {
			if err := succeeds(r); err != nil || first == nil {
				return err
			}
			return matchFields(r.payload, map[string]matcher{"ended_at": equals(first)})
		}))
}

func mcpErrorChecks() []check {
	calls := []struct {
		tool string
		args object
	}{
		{"memory_search", object{"query": "x"}}, {"memory_recall", object{"query": "x"}},
		{"memory_remember", object{"content": "x"}}, {"memory_ingest_url", object{"url": "http://example.invalid/"}},
		{"memory_extract", object{"messages": speech("x")}}, {"memory_reflect", object{"session_id": "x"}},
		{"memory_ask", object{"query": "x"}},
	}
	var checks []check
	for _, call := range calls {
		args := object{"brain": "conformance-no-such-brain"}
		for name, v := range call.args {
			args[name] = v
		}
		checks = append(checks, must("mcp-"+toolID(call.tool)+"-no-brain", "7.3",
			"The code of "+call.tool+" in a brain that does not exist is no_brain.",
			calling(call.tool, args, failsWith(protocol.CodeNoBrain))))
	}
	return append(checks,
		must("mcp-consolidate-no-brain", "7.3",
			"The code of memory_consolidate in a brain that does not exist is no_brain.",
			calling("memory_consolidate", object{"brain": "conformance-no-such-brain"}, func(r *reply) error {
				if r.hasCode(protocol.CodeNotImplemented) {
					return optional("consolidation")
				}
				return failsWith(protocol.CodeNoBrain)(r)
			})),
		should("mcp-tool-unknown", "4.1", "A call of a tool that does not exist is an error.",
			withClient(func(ctx context.Context, _ *client, m *mcpclient.Client) error {
				r, err := callTool(ctx, m, "memory_forget_everything", object{})
				if err == nil {
					err = against(fails(r))
				}
				return err
			})),
		should("mcp-ingest-url-private", "4.1", "memory_ingest_url of the metadata service of a cloud is an error.",
			calling("memory_ingest_url", object{"url": "http://169.254.169.254/latest/meta-data/"}, fails)),
		should("mcp-remember-path-400", "2", "memory_remember to a path that leads out of the brain is an error.",
			calling("memory_remember", object{"content": "x", "path": "../outside.md"}, fails)),
	)
}

// mcpLimitChecks send arguments that violate the schemas.
func mcpLimitChecks() []check {
	long := func(n int) string { return strings.Repeat("x", n) }
	many := make([]string, protocol.MaxDocumentTags+1)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	lines := make([]string, protocol.MaxSessionMessages+1)
	for i := range lines {
		lines[i] = "x"
	}
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
		{"remember-tags-65", "65 tags", "memory_remember", object{"content": "x", "tags": many}},
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
			creating(r.tool, r.args, fails)))
	}
	accepted := func(id, what, tool string, args object) check {
		return should("mcp-limit-"+id, "8", tool+" accepts "+what+".", creating(tool, args, succeeds))
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

// mcpFileChecks give the server files of this machine.
func mcpFileChecks() []check {
	ingestOf := func(name string, size int, judge func(*reply) error) step {
		return func(ctx context.Context, c *client) error {
			dir, err := os.MkdirTemp("", "evalctl-conformance-*")
			if err != nil {
				return unjudged{ReasonSetup, err}
			}
			defer func() { _ = os.RemoveAll(dir) }()
			file := filepath.Join(dir, name)
			if err := writeSparse(file, "# Gazelle\n\nThe gazelle outruns the train.\n", int64(size)); err != nil {
				return unjudged{ReasonSetup, err}
			}
			return calling("memory_ingest_file", object{"path": file}, readingFiles(judge))(ctx, c)
		}
	}
	return []check{
		must("mcp-ingest-file-called", "4.1", "memory_ingest_file can be called, and returns structured content and a text.",
			ingestOf("gazelle.md", 0, func(r *reply) error {
				if err := succeeds(r); err != nil {
					return err
				}
				if r.payload == nil || strings.TrimSpace(r.Text) == "" {
					return fmt.Errorf("want structured content and a text, but %s", r)
				}
				return nil
			})),
		must("mcp-ingest-file-shape", "4.1", "The status of memory_ingest_file is queued or ingested, and it returns a path.",
			ingestOf("gazelle.md", 0, payloadHas(map[string]matcher{
				"status": matchesPattern(`^(queued|ingested)$`), "path": isNonEmptyString}))),
		should("mcp-ingest-file-found", "4.1", "memory_search finds the text of an ingested file.",
			setup(ingestOf("gazelle.md", 0, succeeds)), awaitHit("gazelle")),
		must("mcp-ingest-file-too-large", "7.3", "The code of memory_ingest_file for a file above 25 MiB is file_too_large.",
			ingestOf("large.md", protocol.MaxIngestBytes+1, failsWith(protocol.CodeFileTooLarge))),
		must("mcp-ingest-file-no-brain", "7.3",
			"The code of memory_ingest_file in a brain that does not exist is no_brain.", ingestInNoBrain),
		should("mcp-ingest-file-missing", "4.1", "memory_ingest_file of a file that does not exist is an error.",
			calling("memory_ingest_file", object{"path": "/conformance/no/such/file.md"}, fails)),
	}
}

// readingFiles judges the reply of a server that reads files. One that says that it reads none, as
// evalctl mcp without --files, shows nothing.
func readingFiles(judge func(*reply) error) func(*reply) error {
	return func(r *reply) error {
		if r.hasCode(protocol.CodeLocalFiles) {
			return unjudged{ReasonNeed, fmt.Errorf("the server reads no files of its machine (%s): "+
				"start it so that it reads those of %s", protocol.CodeLocalFiles, os.TempDir())}
		}
		return judge(r)
	}
}

var ingestInNoBrain step = func(ctx context.Context, c *client) error {
	dir, err := os.MkdirTemp("", "evalctl-conformance-*")
	if err != nil {
		return unjudged{ReasonSetup, err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "a.md")
	if err := os.WriteFile(file, []byte("# A\n"), 0o600); err != nil {
		return unjudged{ReasonSetup, err}
	}
	args := object{"brain": "conformance-no-such-brain", "path": file}
	return calling("memory_ingest_file", args, readingFiles(failsWith(protocol.CodeNoBrain)))(ctx, c)
}

// writeSparse writes a file that begins with text and has at least size bytes. The rest takes no
// space on the disk.
func writeSparse(name, text string, size int64) error {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil || size == 0 {
		return err
	}
	return os.Truncate(name, size)
}
