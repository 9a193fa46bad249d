package requirements

import (
	"errors"
	"fmt"
	"strings"
)

// progressToken has characters that a server must return unchanged.
const progressToken = `tök "1"/<2>`

func mcpProgressChecks() []check {
	// asked asks a question that the documents answer, on a connection of its own.
	asked := func(token any, judge func(*reply) error) step {
		return withOwnConnection(remembered("cormorant"),
			callingWith(token, "memory_ask", object{"query": "Where does the cormorant sleep?"}, ifGiven(judge)))
	}
	return []check{
		must("mcp-progress-sent", "6.4", "With a progress token, memory_ask sends a notification for each part of its answer.",
			asked(progressToken, func(r *reply) error {
				answer, _ := r.payload["answer"].(string)
				if len(r.progress) == 0 && answer != "" {
					return fmt.Errorf("want notifications, got none with the token and %d others", r.stray)
				}
				return nil
			})),
		must("mcp-progress-token", "6.4", "Notifications have the progress token, verbatim.",
			asked(progressToken, func(r *reply) error {
				if r.stray > 0 {
					return fmt.Errorf("want only notifications with the token %q before the reply, got %d others",
						progressToken, r.stray)
				}
				return nil
			})),
		must("mcp-progress-counter", "6.4", "The progress of notifications counts 0, 1, 2, …, without a total.",
			asked(progressToken, func(r *reply) error {
				if r.wrong != "" {
					return errors.New(r.wrong)
				}
				return nil
			})),
		must("mcp-progress-message", "6.4", "The messages of the notifications are the parts of the answer.",
			asked(progressToken, func(r *reply) error {
				var all strings.Builder
				for _, p := range r.progress {
					all.WriteString(p.Message)
				}
				if len(r.progress) == 0 {
					return optional("notifications")
				}
				return matchFields(r.payload, map[string]matcher{"answer": equals(all.String())})
			})),
		must("mcp-progress-unasked", "6.4", "Without a progress token, memory_ask sends no notifications.",
			asked(nil, func(r *reply) error {
				if r.stray > 0 {
					return fmt.Errorf("want no notifications, got %d", r.stray)
				}
				return nil
			})),
	}
}

// silentToolChecks has a check for each tool that never sends notifications.
func silentToolChecks() []check {
	var checks []check
	silent := append(toolCalls(), exampleCall{"memory_consolidate", object{}, setup()})
	for _, call := range silent {
		if call.tool == "memory_ask" || call.tool == "memory_create_brain" {
			continue
		}
		checks = append(checks, must("mcp-progress-"+toolID(call.tool)+"-silent", "6.4",
			call.tool+" sends no notifications, with or without a progress token.",
			withOwnConnection(call.prep, callingWith(progressToken, call.tool, call.args, isSilent),
				calling(call.tool, call.args, isSilent))))
	}
	return checks
}

func isSilent(r *reply) error {
	if n := len(r.progress) + r.stray; n > 0 {
		return onEveryRoute("sends notifications", "want no notifications, got %d", n)
	}
	return nil
}
