package requirements

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/census"
)

// toolBrain returns the brain shared by the checks. The first call creates it.
func (d *Target) toolBrain(ctx context.Context) (string, error) {
	t := d.tools
	client, err := t.client(ctx)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.brain != "" {
		return t.brain, nil
	}
	t.brain, err = createToolBrain(ctx, client)
	return t.brain, err
}

// createToolBrain creates a brain with the tools. A brain that these listed before is refused.
func createToolBrain(ctx context.Context, m *mcpclient.Client) (string, error) {
	name := newBrainName()
	before, err := census.Take(ctx, func(ctx context.Context, _ string) ([]byte, error) {
		r, err := callTool(ctx, m, "memory_list_brains", object{}, nil)
		if err != nil || r.given() != nil {
			return nil, nil //nolint:nilerr // other checks report it
		}
		return encode(r.payload), nil
	})
	if err != nil {
		return "", err
	}
	r, err := callTool(ctx, m, "memory_create_brain", object{"name": name, "slug": name}, nil)
	if err == nil {
		err = r.given()
	}
	if err != nil {
		return "", err
	}
	id, _ := r.payload["id"].(string)
	if id == "" {
		return "", unjudgedError{ReasonSetup, fmt.Errorf("%s: want an id, got %s", r, excerpt(encode(r.payload)))}
	}
	if before.Had(id) {
		return "", unjudgedError{ReasonSetup, notNew("memory_create_brain", id, census.ErrOld)}
	}
	return id, nil
}

// reply is the reply to a tool call.
type reply struct {
	mcpclient.Result
	tool     string
	payload  object           // the structured content
	rejected *mcpclient.Error // a JSON-RPC error instead of a result
	progress []mcpclient.Progress
	stray    int    // notifications of other calls, or with another token, so far on the connection
	wrong    string // the rule of progress that the notifications violate
}

// String describes the reply for a check's detail.
func (r *reply) String() string {
	switch {
	case r.rejected != nil:
		return fmt.Sprintf("%s: %v", r.tool, r.rejected)
	case r.Failure != nil:
		return fmt.Sprintf("%s returned the error %q: %s", r.tool, r.Failure.Code, excerpt([]byte(r.Failure.Message)))
	}
	return fmt.Sprintf("%s returned %s", r.tool, excerpt(r.Structured))
}

// exchange returns the exchange of the call, with its arguments.
func (r *reply) exchange(args object) *exchange {
	x := &exchange{route: r.tool, line: "tools/call " + r.tool, body: string(encode(args)),
		answer: &answer{line: "result", body: r.Structured}}
	if r.isError() {
		x.answer.line = "error"
	}
	if r.isError() || len(r.Structured) == 0 {
		x.answer.body = []byte(r.String())
	}
	return x
}

// isError reports whether the tool, or the server for it, reported an error.
func (r *reply) isError() bool { return r.Failure != nil || r.rejected != nil }

// given leaves a check not judged if the call failed, which another check covers.
func (r *reply) given() error {
	if r.isError() {
		return unjudgedError{ReasonSetup, errors.New(r.String())}
	}
	return nil
}

// hasCode reports whether the call failed with a code. The layout of errors is open: it may be in
// the structured content, in the text, or in the data or the message of a JSON-RPC error.
func (r *reply) hasCode(code string) bool {
	if r.rejected != nil {
		return r.rejected.Code == code || strings.Contains(r.rejected.Message, code)
	}
	return r.Failure != nil && (r.Failure.Code == code || strings.Contains(r.Text, code))
}

// callTool calls a tool, with a progress token unless it is nil.
func callTool(ctx context.Context, c *mcpclient.Client, tool string, args object, token any) (*reply, error) {
	r := &reply{tool: tool}
	var err error
	if token == nil {
		r.Result, err = c.Call(ctx, tool, args, nil)
	} else {
		r.Result, err = c.CallToken(ctx, tool, args, token, func(p mcpclient.Progress) { r.progress = append(r.progress, p) })
	}
	r.stray = c.Stray()
	if failed, ok := errors.AsType[*mcpclient.Error](err); ok && !failed.Aborted && failed.Code != mcpclient.CodeMalformed {
		if failed.Code == mcpclient.CodeProgress {
			r.wrong = failed.Message
		} else {
			r.rejected = failed
		}
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	if json.Unmarshal(r.Structured, &r.payload) != nil {
		r.payload = nil // a check of its own is about that
	}
	return r, nil
}

// calling calls a tool in the shared brain and judges the reply. The judge's errors break the
// check, except those without a verdict.
func calling(tool string, args object, judge func(*reply) error) step {
	return callingWith(nil, tool, args, judge)
}

// callingWith is calling with a progress token, unless it is nil. A brain that the call creates is
// deleted afterwards, if the daemon's API is known.
func callingWith(token any, tool string, args object, judge func(*reply) error) step {
	return withClient(func(ctx context.Context, c *client, m *mcpclient.Client) error {
		sent := c.inToolBrain(tool, args)
		r, err := callTool(ctx, m, tool, sent, token)
		if err != nil {
			return err
		}
		responded(ctx)
		if id, ok := r.payload["id"].(string); ok && tool == "memory_create_brain" {
			c.target.deleteBrain(ctx, id)
		}
		x := r.exchange(sent)
		c.remember(x)
		if err := judge(r); err != nil {
			return x.about(against(fmt.Errorf("%s: %w", tool, err)))
		}
		return nil
	})
}

// preparing calls a tool whose success the check needs.
func preparing(tool string, args object) step { return calling(tool, args, (*reply).given) }

// inToolBrain adds the brain to arguments without one. In strings, "{new}" is replaced with a name
// used only by this check.
func (c *client) inToolBrain(tool string, args object) object {
	sent := filledIn(args, c.unique)
	if _, ok := sent["brain"]; !ok && hasBrain(tool) {
		sent["brain"] = c.brain
	}
	return sent
}

// withClient runs a part of a check over the shared connection, in the brain shared by this group's
// checks.
func withClient(use func(context.Context, *client, *mcpclient.Client) error) step {
	return func(ctx context.Context, c *client) error {
		if c.tools != nil {
			return use(ctx, c, c.tools)
		}
		m, err := c.target.tools.client(ctx)
		if err != nil {
			return err
		}
		return use(ctx, c, m)
	}
}

// withOwnConnection runs steps over a separate connection. They use a separate brain if the new
// connection does not reach the shared one, because a command may keep its brains in memory.
func withOwnConnection(steps ...step) step {
	return func(ctx context.Context, c *client) error {
		m, err := c.target.tools.connect(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = m.Close() }() // not what the check is about
		own := &client{target: c.target, tools: m, brain: c.brain, unique: c.unique}
		r, err := callTool(ctx, m, "memory_search", own.inToolBrain("memory_search", object{"query": "x"}), nil)
		if err != nil {
			return err
		}
		if r.isError() {
			if own.brain, err = createToolBrain(ctx, m); err != nil {
				return err
			}
			defer c.target.deleteBrain(ctx, own.brain)
		}
		err = own.run(ctx, steps...)
		c.take(own)
		return err
	}
}

// runInToolBrain runs the steps of a tool check in the shared brain.
func (c *client) runInToolBrain(ctx context.Context, steps []step) (err error) {
	if c.brain, err = c.target.toolBrain(ctx); err != nil {
		return err
	}
	return c.run(ctx, steps...)
}
