package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Compile is Consolidate at daemons that only have the endpoint compile (spec 4.1,
// memory_consolidate). The result is the member result of the response, or the whole response if
// there is none. It has no known form.
func (b *Brain) Compile(ctx context.Context) (json.RawMessage, error) {
	r := request{method: http.MethodPost, path: b.path + "/compile"}
	if err := r.json(struct{}{}); err != nil {
		return nil, err
	}
	whole, err := callModel[json.RawMessage](ctx, b.c, r)
	if err != nil {
		return nil, err
	}
	var body struct{ Result json.RawMessage }
	if json.Unmarshal(whole, &body) == nil && body.Result != nil {
		return body.Result, nil
	}
	return whole, nil
}
