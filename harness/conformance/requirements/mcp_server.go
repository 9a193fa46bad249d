package requirements

import (
	"context"
	_ "embed" // tools.json
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"evalctl/daemon/mcpclient"
)

// tools are the connections to the MCP server under test. It is safe for concurrent use. The checks
// share one brain, because the tools cannot delete brains; each uses its own words and paths.
type tools struct {
	address string // a URL, or stdio:COMMAND
	token   string
	env     []string // of a process
	local   bool     // the server is a process on this machine, which can read its files

	mu      sync.Mutex
	shared  *mcpclient.Client
	version string // of MCP, of the connection that was shared last
	brain   string
}

func newTools(c Config) *tools {
	if c.MCP == "" {
		return nil
	}
	return &tools{address: c.MCP, token: c.Token, env: c.MCPEnv, local: strings.HasPrefix(c.MCP, "stdio:")}
}

// connect returns a connection of its own, which the caller closes.
func (t *tools) connect(ctx context.Context) (*mcpclient.Client, error) {
	return mcpclient.Connect(ctx, t.address, mcpclient.Options{Token: t.token, Env: t.env})
}

// client returns the shared connection.
func (t *tools) client(ctx context.Context) (*mcpclient.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared != nil {
		return t.shared, nil
	}
	shared, err := t.connect(ctx)
	if err == nil {
		t.shared = shared
		_, _, t.version = shared.Server()
	}
	return shared, err
}

// agreed returns the version of MCP that the server agreed to, "" for none.
func (t *tools) agreed() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

func (t *tools) close() {
	if t == nil || t.shared == nil {
		return
	}
	_ = t.shared.Close() // the verdicts are there
}

// moveTo disconnects from a daemon that died. If the server is part of the daemon, the next
// connection goes to its new address. It returns the shared brain, or "".
func (t *tools) moveTo(from, to string) (brain string) {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared != nil {
		_ = t.shared.Close() // it may be dead
		t.shared = nil
	}
	if rest, ok := strings.CutPrefix(t.address, from); ok {
		t.address = to + rest
	}
	brain, t.brain = t.brain, ""
	return brain
}

// health returns why the server does not seem to be alive.
func (t *tools) health(ctx context.Context) error {
	c, err := t.client(ctx)
	if err == nil {
		_, err = c.Tools(ctx)
	}
	return err
}

// toolSchema has the rules of a tool's arguments (spec 4.1), in the terms of JSON Schema.
type toolSchema struct {
	Name       string            `json:"name"`
	Required   []string          `json:"required"`
	Properties map[string]object `json:"properties"`
}

//go:embed tools.json
var toolsJSON []byte

// toolSchemas are the eleven tools.
var toolSchemas = sync.OnceValue(func() (all []toolSchema) {
	if err := json.Unmarshal(toolsJSON, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

// hasBrain reports whether a tool has the argument brain.
func hasBrain(tool string) bool {
	return !slices.ContainsFunc(toolSchemas(), func(t toolSchema) bool { return t.Name == tool && t.Properties["brain"] == nil })
}

// toolID returns a tool's name in the ids of checks.
func toolID(tool string) string {
	return strings.ReplaceAll(strings.TrimPrefix(tool, "memory_"), "_", "-")
}
