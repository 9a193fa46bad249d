package client

import (
	"context"
	"net/http"

	"evalctl/daemon/protocol"
)

// Consolidate tidies what the daemon has written into the brain by itself (spec 4.1,
// memory_consolidate). With DryRun nothing changes, and the result lists what would be done. Code
// of the error is protocol.CodeConflict while the brain is being consolidated, and
// protocol.CodeBadGateway if the model failed; nothing has changed then. Repeating the request is
// safe. Only ctx limits how long it takes.
func (b *Brain) Consolidate(
	ctx context.Context, c protocol.ConsolidateRequest,
) (protocol.ConsolidateResponse, error) {
	r := request{method: http.MethodPost, path: b.path + "/consolidate"}
	if err := r.json(c); err != nil {
		return protocol.ConsolidateResponse{}, err
	}
	return callModel[protocol.ConsolidateResponse](ctx, b.c, r)
}
