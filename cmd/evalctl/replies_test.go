package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// toolServer is an MCP server on stdio with many tools, as many as its argument says, on one page.
func toolServer() {
	var many int
	_, _ = fmt.Sscan(os.Args[1], &many)
	in := json.NewDecoder(os.Stdin)
	for {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if in.Decode(&call) != nil {
			return
		}
		if len(call.ID) > 0 {
			writeTools(os.Stdout, call.ID, call.Method, many)
		}
	}
}

func writeTools(to io.Writer, id json.RawMessage, method string, many int) {
	w := bufio.NewWriter(to)
	defer w.Flush()
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":`, id)
	switch method {
	case "initialize":
		_, _ = w.WriteString(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"many","version":"1"}}`)
	case "tools/list":
		_, _ = w.WriteString(`{"tools":[`)
		for i := range many {
			if i > 0 {
				_ = w.WriteByte(',')
			}
			fmt.Fprintf(w, `{"name":"tool_%d","description":"does what it does","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`, i)
		}
		_, _ = w.WriteString(`]}`)
	default:
		_, _ = w.WriteString(`{}`)
	}
	_, _ = w.WriteString("}\n")
}
