package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"evalctl/daemon/mcpclient"
)

// progressToken has characters that a server must return as they are.
const progressToken = `tök "1"/<2>`

func mcpProgressChecks() []check {
	// asked asks a question that the documents answer, with a token, on a connection of its own.
	asked := func(judge func(*reply, int) error) []step {
		ask := withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
			args := c.inToolBrain("memory_ask", object{"query": "Where does the cormorant sleep?"})
			r, err := callWithToken(ctx, m, "memory_ask", args, progressToken)
			if err != nil {
				return err
			}
			x := toolExchange("memory_ask", args, r)
			c.remember(x)
			if err := r.given(); err != nil {
				return x.about(err)
			}
			return x.about(against(judge(r, m.Stray())))
		})
		return []step{withOwnConnection(remembered("cormorant"), ask)}
	}
	checks := []check{
		must("mcp-progress-sent", "6.4", "With a progress token, memory_ask sends a notification for each part of its answer.",
			asked(func(r *reply, stray int) error {
				answer, _ := r.payload["answer"].(string)
				if len(r.progress) == 0 && answer != "" {
					return fmt.Errorf("want notifications, got none with the token and %d others", stray)
				}
				return nil
			})...),
		must("mcp-progress-token", "6.4", "Notifications have the progress token, verbatim.",
			asked(func(r *reply, stray int) error {
				if stray > 0 {
					return fmt.Errorf("want only notifications with the token %q before the reply, got %d others",
						progressToken, stray)
				}
				return nil
			})...),
		must("mcp-progress-counter", "6.4", "The progress of notifications counts 0, 1, 2, …, without a total.",
			asked(func(r *reply, _ int) error {
				if r.wrong != "" {
					return errors.New(r.wrong)
				}
				return nil
			})...),
		must("mcp-progress-message", "6.4", "The messages of the notifications are the parts of the answer.",
			asked(func(r *reply, _ int) error {
				var all strings.Builder
				for _, p := range r.progress {
					all.WriteString(p.Message)
				}
				if len(r.progress) == 0 {
					return optional("notifications")
				}
				return matchFields(r.payload, map[string]matcher{"answer": equals(all.String())})
			})...),
		must("mcp-progress-unasked", "6.4", "Without a progress token, no tool sends notifications.",
			withOwnConnection(remembered("cormorant"), withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
				args := c.inToolBrain("memory_ask", object{"query": "Where does the cormorant sleep?"})
				r, err := callTool(ctx, m, "memory_ask", args)
				if err == nil {
					err = r.given()
				}
				if n := m.Stray(); err == nil && n > 0 {
					err = brokenf("memory_ask: want no notifications, got %d", n)
				}
				return err
			}))),
	}
	return append(checks, silentToolChecks()...)
}

// silentToolChecks has a check for each tool that never sends notifications.
func silentToolChecks() []check {
	var checks []check
	silent := append(toolCalls(), struct {
		tool string
		args object
		prep step
	}{"memory_consolidate", object{}, setup()})
	for _, call := range silent {
		if call.tool == "memory_ask" || call.tool == "memory_create_brain" {
			continue
		}
		checks = append(checks, must("mcp-progress-"+toolID(call.tool)+"-silent", "6.4",
			"With a progress token, "+call.tool+" sends no notifications.",
			withOwnConnection(call.prep, withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
				r, err := callWithToken(ctx, m, call.tool, c.inToolBrain(call.tool, call.args), progressToken)
				if err != nil {
					return err
				}
				x := toolExchange(call.tool, c.inToolBrain(call.tool, call.args), r)
				c.remember(x)
				if n := len(r.progress) + m.Stray(); n > 0 {
					return contradiction{x.about(onEveryRoute("sends notifications", "%s: want no notifications, got %d", call.tool, n))}
				}
				return nil
			}))))
	}
	return checks
}
