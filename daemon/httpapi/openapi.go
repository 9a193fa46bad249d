package httpapi

import (
	_ "embed"
	"net/http"

	"evalctl/daemon/protocol"
)

// openAPI describes every route, in OpenAPI 3.1.
//
//go:embed openapi.json
var openAPI []byte

func (a *API) openapi(w http.ResponseWriter, _ *http.Request) error {
	return writeBody(w, http.StatusOK, protocol.TypeJSON, openAPI)
}
