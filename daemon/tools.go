package daemon

import (
	"log/slog"
	"net/http"
	"time"

	"evalctl/daemon/client"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/mcpserver"
)

// toolTimeout limits one request of a tool to the API. It leaves time for models.
const toolTimeout = 10 * time.Minute

// toolsOf returns the handler of the memory_* tools, which use the API in the same process.
func toolsOf(api *httpapi.API, version string, logger *slog.Logger) (http.Handler, error) {
	c, err := client.New("http://localhost", &client.Options{
		UserAgent: "evalctl-mcp", Timeout: toolTimeout,
		HTTPClient: &http.Client{Transport: api.Local()},
	})
	if err != nil {
		return nil, err
	}
	tools, err := mcpserver.New(mcpserver.Config{Client: c, Version: version, Logger: logger})
	if err != nil {
		return nil, err
	}
	return tools.Handler(), nil
}
