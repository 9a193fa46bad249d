package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/mcpclient"
)

func Example() {
	s := mcp.NewServer(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil
		})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s }, nil))
	defer server.Close()

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, server.URL, mcpclient.Options{Token: "my-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	result, err := c.Call(ctx, "greet", nil, nil)
	fmt.Println(result.Text, err)
	// Output: hello <nil>
}
