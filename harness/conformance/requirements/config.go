package requirements

import (
	"slices"
	"time"

	"evalctl/internal/redact"
)

// Config says which daemon is checked, and how. One of Endpoint and MCP is required.
type Config struct {
	// Endpoint is the daemon's base URL. MCP is the server of the tools: a URL, or "stdio:" and a
	// command with its arguments.
	Endpoint, MCP string
	// Token is sent with every request. ReadOnlyToken and OtherTenantToken are for the checks that
	// need them.
	Token, ReadOnlyToken, OtherTenantToken string
	// Secrets and the tokens are replaced in what is reported.
	Secrets []redact.Secret
	// MCPEnv is the environment of a command of MCP, NAME=VALUE, besides what every program gets.
	MCPEnv []string
	// Agent is the User-Agent header of every request.
	Agent string
	// Parallel is how many checks run at a time.
	Parallel int
	// Timeout is how long a check waits for each response to begin.
	Timeout time.Duration
	// Within replaces each limit for what a daemon must do by itself, such as indexing a document. If
	// it is 0, they remain.
	Within time.Duration
	// Slow includes the checks that wait for something that a daemon does every 25 seconds.
	Slow bool
}

// otherSecrets returns the secrets that are no tokens of the checks.
func (c Config) otherSecrets() []redact.Secret {
	tokens := []string{c.Token, c.ReadOnlyToken, c.OtherTenantToken}
	return slices.DeleteFunc(slices.Clone(c.Secrets), func(s redact.Secret) bool { return slices.Contains(tokens, s.Value) })
}
