package mcpserver_test

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon"
)

// TestProtocolVersions connects the client of the SDK, which is not mcpclient, with every version
// of the protocol.
func TestProtocolVersions(t *testing.T) {
	url, _ := startDaemon(t, daemon.Config{})
	for _, version := range mcp.SupportedProtocolVersions() {
		for name, transport := range map[string]mcp.Transport{
			"http":  &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{}, DisableStandaloneSSE: true},
			"stdio": pipe(t, newServer(t, url, "")),
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
				s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if got := s.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("speaks %s", got)
				}
				tools, err := s.ListTools(t.Context(), nil)
				if err != nil || len(tools.Tools) != 11 {
					t.Errorf("tools are %v, %v", tools, err)
				}
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_list_brains"})
				if err != nil || r.IsError {
					t.Errorf("got %+v, %v", r, err)
				}
			})
		}
	}
}
