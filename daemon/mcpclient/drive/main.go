// Command drive is the client for the scenarios of MCP's conformance suite: it lists the tools of
// the server at the URL, and calls the tools that the scenario names. The suite starts it, watches
// the requests that it sends, and judges. scripts/mcp/check.sh runs the suite.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"evalctl/daemon/mcpclient"
)

// planned is the environment variable with the calls of a scenario. The calls of scenarios without
// it are below.
const planned = "MCP_CONFORMANCE_CONTEXT"

// arguments has the arguments of tools for which the suite gives none.
var arguments = map[string]map[string]any{
	"add_numbers": {"a": 5, "b": 3},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: drive URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	err := drive(ctx, os.Args[1])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func drive(ctx context.Context, url string) error {
	c, err := mcpclient.Connect(ctx, url, mcpclient.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the suite has seen what it judges
	tools, err := c.Tools(ctx)
	if err != nil {
		return err
	}
	calls, err := callsOf(tools)
	if err != nil {
		return err
	}
	for _, call := range calls {
		if _, err := c.Call(ctx, call.Name, call.Arguments, nil); err != nil {
			return fmt.Errorf("call %s: %w", call.Name, err)
		}
	}
	return nil
}

// call is a call that a scenario asks for.
type call struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// callsOf returns the calls that the suite names, else one of each tool.
func callsOf(tools []mcpclient.Tool) (calls []call, err error) {
	var scenario struct {
		ToolCalls []call `json:"toolCalls"`
	}
	if text := os.Getenv(planned); text != "" {
		if err := json.Unmarshal([]byte(text), &scenario); err != nil {
			return nil, fmt.Errorf("%s: %w", planned, err)
		}
	}
	if len(scenario.ToolCalls) > 0 {
		return scenario.ToolCalls, nil
	}
	for _, tool := range tools {
		args := arguments[tool.Name]
		if args == nil {
			args = map[string]any{}
		}
		if tool.Name == "json_schema_echo" { // which gets back what the client has read
			i := slices.IndexFunc(tools, func(t mcpclient.Tool) bool { return t.Name == "json_schema_2020_12_tool" })
			args = map[string]any{"schema": tools[max(i, 0)].InputSchema}
		}
		calls = append(calls, call{tool.Name, args})
	}
	return calls, nil
}
