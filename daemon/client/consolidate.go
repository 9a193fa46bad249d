package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"evalctl/daemon/protocol"
)

// Consolidate tidies the documents that the daemon has written into the brain by itself (spec 4.1,
// memory_consolidate). With DryRun nothing changes, and the result lists the actions that would be
// taken. Code of the error is protocol.CodeConflict while the brain is being consolidated, and
// protocol.CodeBadGateway if the model failed; nothing has changed then. Repeating the request is
// safe. Only ctx limits how long it takes.
//
// The response is the daemon's own, byte for byte, because the specification gives it no form, and
// nil if it is empty. The reference daemon's is a protocol.ConsolidateResponse.
func (b *Brain) Consolidate(
	ctx context.Context, c protocol.ConsolidateRequest,
) (json.RawMessage, error) {
	return b.tidy(ctx, "/consolidate", c)
}

// Compile is Consolidate at daemons that only have the endpoint compile (spec 4.1,
// memory_consolidate).
func (b *Brain) Compile(ctx context.Context) (json.RawMessage, error) {
	return b.tidy(ctx, "/compile", struct{}{})
}

func (b *Brain) tidy(ctx context.Context, endpoint string, body any) (json.RawMessage, error) {
	r := request{method: http.MethodPost, path: b.path + endpoint}
	r.json(body)
	data, err := b.c.read(ctx, r, maxJSON)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, err
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("%s %s: the response is not JSON", r.method, r.path)
	}
	return data, nil
}
