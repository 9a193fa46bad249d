package requirements

import (
	"slices"
	"time"

	"evalctl/internal/redact"
)

// Config says which daemon to check, and how. One of Endpoint and MCP is required.
type Config struct {
	// Endpoint is the daemon's base URL. MCP is the server of the tools: a URL, or "stdio:" and a
	// command with its arguments.
	Endpoint, MCP string
	// Token is sent with every request. ReadOnlyToken and OtherTenantToken are for the checks that
	// need them.
	Token, ReadOnlyToken, OtherTenantToken string
	// Secrets and the tokens are redacted in reports.
	Secrets []redact.Secret
	// MCPEnv is the environment of an MCP command as NAME=VALUE, besides the variables that every
	// program receives.
	MCPEnv []string
	// Agent is the User-Agent header of every request.
	Agent string
	// Parallel is the number of concurrent checks.
	Parallel int
	// Timeout is how long a check waits for each response to begin.
	Timeout time.Duration
	// Within overrides each limit on what a daemon must do by itself, such as indexing a document,
	// unless it is 0.
	Within time.Duration
	// Slow includes the checks that wait for events that occur every 25 seconds.
	Slow bool
}

// otherSecrets returns the secrets that are not tokens of the checks.
func (c Config) otherSecrets() []redact.Secret {
	tokens := []string{c.Token, c.ReadOnlyToken, c.OtherTenantToken}
	return slices.DeleteFunc(slices.Clone(c.Secrets), func(s redact.Secret) bool { return slices.Contains(tokens, s.Value) })
}
