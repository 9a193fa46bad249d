package conformance

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"evalctl/harness/conformance/requirements"
	"evalctl/internal/redact"
)

// Defaults of Options.
const (
	defaultParallel = 4
	defaultTimeout  = 30 * time.Second
)

// Options configures Run. Only Endpoint or MCP is required.
type Options struct {
	// Endpoint is the daemon's base URL, http or https. If empty, only the group mcp runs.
	Endpoint string
	// MCP is the server of the tools: a streamable HTTP URL, or "stdio:" and a command with its
	// arguments. If empty, the group mcp is not judged. The tools cannot delete brains: without
	// Endpoint, the brains created by the checks remain.
	MCP string
	// Token is sent with every request. ReadOnlyToken belongs to the same tenant and may only read
	// its documents. OtherTenantToken belongs to another tenant. Checks that need an empty token
	// are not judged.
	Token, ReadOnlyToken, OtherTenantToken string
	// Secrets and the tokens are redacted in the report.
	Secrets []redact.Secret
	// MCPEnv is the environment of an MCP command as NAME=VALUE, besides the variables that every
	// program receives.
	MCPEnv []string
	// Profile and Only select checks; see Checks. An empty profile is Full.
	Profile Profile
	Only    []string
	// Parallel is the number of concurrent checks; 0 means 4.
	Parallel int
	// Timeout is how long a check waits for each response to begin; 0 means 30 seconds. A slow
	// daemon gets as much time as all its answers need.
	Timeout time.Duration
	// Slow includes the checks that wait for events that occur every 25 seconds.
	Slow bool
	// Agent is the User-Agent header of every request.
	Agent string
	// Process is the process of a daemon started for the run, else nil.
	Process Process
	// Restart restarts the daemon after it died, stopping any remains first. It returns the base
	// URL, which may differ, and the process. The daemon may have lost its brains. Restart is
	// called at most three times. If nil, the daemon's death ends the run. MCP follows the daemon
	// if it begins with Endpoint.
	Restart func(context.Context) (endpoint string, p Process, err error)
	// Log returns the end of the log of a daemon whose process is running. It may be nil.
	Log func() string
	// within limits how long a daemon may take to index a document, to ingest a file, to send a due
	// frame and to reject a body that does not come. 0 means individual limits. Tests set it.
	within time.Duration
	// Done is called with each result as soon as it is available. Calls are not concurrent.
	Done func(Result)
}

// Planned returns the number of checks to run, and the error of an invalid selection.
func (o Options) Planned() (int, error) {
	checks, err := o.checks()
	return len(checks), err
}

// checks returns the selected checks that apply to the daemon.
func (o Options) checks() ([]Check, error) {
	checks, err := Checks(cmp.Or(o.Profile, Full), o.Only)
	if err != nil {
		return nil, err
	}
	checks = slices.DeleteFunc(checks, func(c Check) bool {
		return c.Group != requirements.GroupMCP && o.Endpoint == "" && o.MCP != ""
	})
	if len(checks) == 0 {
		return nil, errOnlyTools
	}
	return checks, nil
}

// errOnlyTools means that the selected checks need an endpoint, and there is none.
var errOnlyTools = errors.New("the selected checks need the daemon's API: without an endpoint, only the group " +
	requirements.GroupMCP + " runs")

// ErrUnusable means that no check could run: the daemon does not respond, does not create brains,
// or does not allow deleting them.
var ErrUnusable = errors.New("the daemon cannot be checked")
