package requirements

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"evalctl/daemon/mcpclient"
	"evalctl/daemon/protocol"
)

// recordFields are the fields of a DocumentRecord (spec 2).
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

// hasFields matches an object with fields.
func hasFields(of map[string]matcher) matcher {
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
		search := func(ctx context.Context, c *client) (*reply, error) {
			r, err := callTool(ctx, m, "memory_search", c.inToolBrain("memory_search", object{"query": word}), nil)
			if err == nil {
				err = r.given()
			}
			return r, err
		}
		return await(indexedWithin, search, func(r *reply) bool { return len(r.hits()) > 0 },
			func(_ *client, last *reply) error {
				return brokenf("search for %q: want a hit, but %s: %w", word, last, errSilence)
			})(ctx, c)
	})
}

// hits returns the hits of memory_search.
func (r *reply) hits() []any {
	hits, _ := r.payload["hits"].([]any)
	return hits
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

type exampleCall struct {
	tool string
	args object
	prep step
}

// toolCalls are calls that succeed, one for each tool that needs neither a file nor the network.
func toolCalls() []exampleCall {
	nothing := setup()
	return []exampleCall{
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
			calling(call.tool, call.args, hasContentAndText)))
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
				payloadHas(map[string]matcher{"metadata": hasFields(map[string]matcher{"tags": equals("tea,two words")})}))),
		must("mcp-remember-title", "4.1", "Without title, memory_remember uses the first heading.",
			calling("memory_remember", object{"content": "text\n\n## Green tea\n\n# Other\n"},
				payloadHas(map[string]matcher{"title": equals("Green tea")}))),
		must("mcp-extract-transcript", "4.1", "Without session_id, memory_extract returns mode transcript and a document.",
			calling("memory_extract", object{"messages": speech("I moved to Bergen.")},
				payloadHas(map[string]matcher{"mode": equals("transcript"), "document": hasFields(recordFields)}))),
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
			calling("memory_reflect", object{"session_id": session}, ifGiven(reflected))),
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
			calling("memory_create_brain", object{"name": "{new} & More"}, payloadHas(brainFields))),
		must("mcp-create-brain-private", "4.1", "The default visibility of memory_create_brain is private.",
			calling("memory_create_brain", object{"name": "{new}"},
				payloadHas(map[string]matcher{"visibility": equals("private")}))),
		must("mcp-create-brain-visibility", "4.1", "memory_create_brain returns the visibility in the arguments.",
			calling("memory_create_brain", object{"name": "{new}", "visibility": "tenant"},
				payloadHas(map[string]matcher{"visibility": equals("tenant")}))),
		must("mcp-list-brains-shape", "4.1", "memory_list_brains returns items with id, slug, name and visibility.",
			calling("memory_list_brains", object{}, payloadHas(map[string]matcher{"items": nonEmpty(eachIn(brainFields))}))),
		must("mcp-ask-shape", "4.1", "memory_ask returns answer, citations and retrieved.",
			remembered("pelican"), calling("memory_ask", object{"query": "Where does the pelican sleep?"},
				payloadHas(map[string]matcher{"answer": isString, "citations": eachIn(citationFields),
					"retrieved": nonEmpty(eachIn(retrievedFields))}))),
	)
}

// hasContentAndText requires a call to succeed with a complete result.
func hasContentAndText(r *reply) error {
	switch err := succeeds(r); {
	case err != nil:
		return err
	case r.payload == nil:
		return errors.New("want an object as structured content, got none")
	case strings.TrimSpace(r.Text) == "":
		return onEveryRoute("returned no text", "want a text, got none")
	}
	return nil
}

func anything(any) error { return nil }

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
	err := matchFields(r.payload, map[string]matcher{"reflection_status": isNonEmptyString, "reflection_attempted": isBool})
	if err == nil && r.payload["ended_at"] != nil {
		err = matchField(r.payload, "ended_at", isTimestamp)
	}
	if err == nil && r.payload["reflection"] != nil {
		err = reflectionFields(r.payload["reflection"])
	}
	return err
}
