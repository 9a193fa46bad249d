package client

import (
	"context"
	"net/http"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
)

// Job describes a job of the brain. The daemon forgets jobs some time after they have ended.
func (b *Brain) Job(ctx context.Context, id string) (protocol.Job, error) {
	r := request{method: http.MethodGet, path: b.path + "/jobs/" + httpclient.Segment(id)}
	if id == "" { // the URL would be another endpoint
		r.check(invalid("job id is empty"))
	}
	r.check(limitChars("job id", id, len(id)))
	return call[protocol.Job](ctx, b.c, r)
}
