package httpapi

import (
	_ "embed"
	"net/http"

	"evalctl/daemon/protocol"
)

//go:generate go test -run ^TestOpenAPIIsCurrent$ -update .
//go:generate go test -run ^TestSearchInEveryMode$ -update .

// openAPI describes every route, in OpenAPI 3.1. The file is generated from the route table, the
// protocol's types, and the tables in openapi_operations_test.go and openapi_schemas_test.go.
//
//go:embed openapi.json
var openAPI []byte

func (a *API) openapi(w http.ResponseWriter, _ *http.Request) error {
	return writeBody(w, http.StatusOK, protocol.TypeJSON, openAPI)
}
