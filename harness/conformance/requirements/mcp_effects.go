package requirements

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"evalctl/daemon/mcpclient"
	"evalctl/daemon/protocol"
	"evalctl/internal/printable"
)

func mcpTextChecks() []check {
	return []check{
		must("mcp-search-text", "4.1", "The text of memory_search lists the hits, each as #N score=S path and its content.",
			remembered("badger"), calling("memory_search", object{"query": "badger"}, ifGiven(listsFirstHit))),
		must("mcp-search-text-five", "4.1", "The text of memory_search lists at most five hits.",
			sevenNotes(), calling("memory_search", object{"query": "wombat", "top_k": 10}, ifGiven(func(r *reply) error {
				if n := len(r.hits()); n < 6 {
					return optional(fmt.Sprintf("six hits: it returned %d", n))
				}
				if !strings.Contains(r.Text, "#5 score=") || strings.Contains(r.Text, "#6 score=") {
					return fmt.Errorf("want the hits #1 to #5, got %s", excerpt([]byte(r.Text)))
				}
				return nil
			}))),
		must("mcp-reflect-text", "4.1", "The text of memory_reflect has the time at which the session ended.",
			preparing("memory_extract", inSession("Please fix the bike.", "The bike is fixed.")),
			calling("memory_reflect", object{"session_id": session}, ifGiven(func(r *reply) error {
				ended, _ := r.payload["ended_at"].(string)
				if ended == "" {
					return optional("ended_at")
				}
				if !strings.Contains(r.Text, ended) {
					return fmt.Errorf("want %s in the text, got %s", ended, excerpt([]byte(r.Text)))
				}
				return nil
			}))),
	}
}

func listsFirstHit(r *reply) error {
	if len(r.hits()) == 0 {
		return optional("a hit")
	}
	first, _ := r.hits()[0].(object)
	path, _ := first["path"].(string)
	content, _ := first["content"].(string)
	_, hit, _ := strings.Cut(r.Text, "#1 score=") // perhaps below a heading
	score, rest, _ := strings.Cut(hit, " ")
	rest, ok := strings.CutPrefix(rest, path)
	if !ok || score == "" {
		return fmt.Errorf("want #1 score=S %s, got %s", path, excerpt([]byte(r.Text)))
	}
	begin := printable.First(content, 320)
	if !strings.HasPrefix(withoutSeparator(rest), withoutSeparator(strings.TrimSpace(begin))) {
		return fmt.Errorf("want the first 320 characters of the content after the path %s, got %s", path, excerpt([]byte(rest)))
	}
	return nil
}

// withoutSeparator removes what may be between a path and a content.
func withoutSeparator(text string) string { return strings.TrimLeft(text, " \t\r\n:-–—") }

// sevenNotes are found by the same word.
func sevenNotes() step {
	var steps []step
	for i := range 7 {
		text := fmt.Sprintf("# Wombat %d\n\nThe wombat number %d digs in field %d%d.\n", i, i, i, i)
		steps = append(steps, preparing("memory_remember", object{"content": text}))
	}
	return setup(append(steps, awaitHit("wombat"))...)
}

func mcpEffectChecks() []check {
	return []check{
		must("mcp-remember-found", "1", "memory_search finds what memory_remember stored.",
			preparing("memory_remember", object{"content": "# Clock\n\nThe grandfather clock stopped.\n"}),
			awaitHit("grandfather")),
		should("mcp-list-brains-created", "4.1", "memory_list_brains lists the brain that the checks created.",
			lazily(func(c *client) step {
				return calling("memory_list_brains", object{}, payloadHas(map[string]matcher{"items": listsBrain(c.brain, true)}))
			})),
		should("mcp-default-brain", "1", "A call without brain uses a default brain, or returns the error no_brain.",
			withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
				r, err := callTool(ctx, m, "memory_search", object{"query": "anything"}, nil)
				if err == nil && r.isError() && !r.hasCode(protocol.CodeNoBrain) {
					// The default brain may belong to another check, which deletes it.
					err = brokenf("want a result or the error no_brain, but %s: %w", r, errDisturbed)
				}
				return err
			})),
	}
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
		args := maps.Clone(call.args)
		args["brain"] = "conformance-no-such-brain"
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
		should("mcp-remember-path-400", "2", "memory_remember to a path that leads out of the brain is an error.",
			calling("memory_remember", object{"content": "x", "path": "../outside.md"}, fails)),
	)
}
