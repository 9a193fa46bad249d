package httpapi

import (
	"bytes"
	"net/http"

	"evalctl/daemon/protocol"
)

// consolidate accepts an empty body, which is a request without a dry run.
func (a *API) consolidate(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(w, r, maxJSONBytes)
	if err != nil {
		return err
	}
	var request protocol.ConsolidateRequest
	if len(bytes.TrimSpace(body)) > 0 {
		if err := decode(body, nil, &request); err != nil {
			return err
		}
	}
	response, err := a.memory.Consolidate(r.Context(), brainOf(r), request)
	return replyJSON(w, http.StatusOK, response, err)
}
