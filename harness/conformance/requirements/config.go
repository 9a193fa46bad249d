package requirements

import "time"

// Config says which daemon is checked, and how. One of Endpoint and MCP is required.
type Config struct {
	// Endpoint is the daemon's base URL. MCP is the server of the tools: a URL, or "stdio:" and a
	// command with its arguments.
	Endpoint, MCP string
	// Token is sent with every request. ReadOnlyToken and OtherTenantToken are for the checks that
	// need them.
	Token, ReadOnlyToken, OtherTenantToken string
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
