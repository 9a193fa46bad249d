package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// consolidate uses the endpoint consolidate, else the endpoint compile.
func consolidate(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(id string, b *client.Brain) (reply, error) {
		r, err := b.Consolidate(ctx, protocol.ConsolidateRequest{})
		if err == nil {
			return reply{consolidation(r), consolidationText(r)}, nil
		}
		if !c.lacksRoute(ctx, id, err) {
			return reply{}, err
		}
		result, err := b.Compile(ctx)
		if err == nil {
			return reply{consolidation(result), "Compiled the brain"}, nil
		}
		if !c.lacksRoute(ctx, id, err) {
			return reply{}, err
		}
		return reply{}, &toolError{Code: protocol.CodeNotImplemented,
			Message: "the daemon has neither consolidate nor compile"}
	})
}

// consolidation returns the payload {result: …} (spec 4.1) for a response without changing the
// daemon's data: the whole response if it has the member result, else the response as that member.
func consolidation(response json.RawMessage) json.RawMessage {
	var body map[string]json.RawMessage
	if json.Unmarshal(response, &body) == nil && body["result"] != nil {
		return response
	}
	if response == nil {
		response = json.RawMessage("null")
	}
	return slices.Concat(json.RawMessage(`{"result":`), response, json.RawMessage(`}`))
}

// consolidationText counts the actions if the response has the form of the reference daemon's.
func consolidationText(response json.RawMessage) string {
	var c protocol.ConsolidateResponse
	if json.Unmarshal(response, &c) != nil ||
		c.Result.Compiled == nil || c.Result.Promoted == nil || c.Result.Pruned == nil {
		return "Consolidated the brain"
	}
	text := fmt.Sprintf("Compiled %d summaries, promoted %d notes, pruned %d facts and episodes",
		len(c.Result.Compiled), len(c.Result.Promoted), len(c.Result.Pruned))
	if c.Result.Record != "" {
		text += "\nrecord: " + c.Result.Record
	}
	return text
}
