package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"evalctl/daemon"
	"evalctl/daemon/client"
	"evalctl/daemon/mcpserver"
	"evalctl/internal/llm"
)

// A server on stdio for a daemon in the same process.
func Example() {
	ctx := context.Background()
	d, err := daemon.New(ctx, daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	api := httptest.NewServer(d.Handler())
	defer api.Close()
	c, err := client.New(api.URL, &client.Options{HTTPClient: &http.Client{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := mcpserver.New(mcpserver.Config{Client: c, Version: "1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_list_brains"}}
`)
	var out bytes.Buffer
	if err := server.ServeStdio(ctx, in, &out); err != nil {
		fmt.Println(err)
		return
	}
	lines := strings.Split(out.String(), "\n")
	fmt.Println(lines[1])
	// Output: {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"no brains"}],"structuredContent":{"items":[],"default_brain_id":""}}}
}
