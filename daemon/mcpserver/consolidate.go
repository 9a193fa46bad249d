package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// compileResult is the payload of a consolidation by an endpoint whose result has no known form.
type compileResult struct {
	Result json.RawMessage `json:"result"`
}

// consolidate uses the endpoint consolidate, else the endpoint compile.
func consolidate(ctx context.Context, c call) (reply, error) {
	return inBrain(ctx, c, func(id string, b *client.Brain) (reply, error) {
		r, err := b.Consolidate(ctx, protocol.ConsolidateRequest{})
		if err == nil {
			return reply{r, consolidationText(r.Result)}, nil
		}
		if !c.lacksRoute(ctx, id, err) {
			return reply{}, err
		}
		result, err := b.Compile(ctx)
		if err == nil {
			return reply{compileResult{result}, "Compiled the brain"}, nil
		}
		if !c.lacksRoute(ctx, id, err) {
			return reply{}, err
		}
		return reply{}, &toolError{Code: protocol.CodeNotImplemented,
			Message: "the daemon has neither consolidate nor compile"}
	})
}

func consolidationText(c protocol.Consolidation) string {
	text := fmt.Sprintf("Compiled %d summaries, promoted %d notes, pruned %d facts and episodes",
		len(c.Compiled), len(c.Promoted), len(c.Pruned))
	if c.Record != "" {
		text += "\nrecord: " + c.Record
	}
	return text
}
