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
	// Endpoint is the daemon's base URL, http or https. If it is empty, only the checks of the group
	// mcp run.
	Endpoint string
	// MCP is the server of the tools: the URL of streamable HTTP, or "stdio:" and a command with its
	// arguments. If it is empty, the checks of the group mcp are not judged. The tools cannot delete
	// brains: without Endpoint, the brains that the checks create remain.
	MCP string
	// Token is sent with every request. ReadOnlyToken belongs to the same tenant and may only read
	// its documents. OtherTenantToken belongs to another tenant. Checks that need a token that is
	// empty are not judged.
	Token, ReadOnlyToken, OtherTenantToken string
	// Secrets and the tokens are replaced in the report.
	Secrets []redact.Secret
	// MCPEnv is the environment of a command of MCP, NAME=VALUE, besides what every program gets.
	MCPEnv []string
	// Profile and Only select checks; see Checks. An empty profile is Full.
	Profile Profile
	Only    []string
	// Parallel is the number of concurrent checks; 0 means 4.
	Parallel int
	// Timeout is how long a check waits for each response to begin; 0 means 30 seconds. A daemon that
	// answers slowly gets as much time as all its answers need.
	Timeout time.Duration
	// Reference includes the checks about what the reference daemon decided where the specification
	// leaves the matter open; see Check.Own.
	Reference bool
	// Slow includes the checks that wait for something that a daemon does every 25 seconds.
	Slow bool
	// Agent is the User-Agent header of every request.
	Agent string
	// Process is the daemon's process if it was started for the run, else nil.
	Process Process
	// Restart starts the daemon again after it died, and stops what is left of it before. It
	// returns the daemon's base URL, which may be another one, and its process. The daemon need not
	// have the brains that it had. Restart is called at most three times. If it is nil, the death
	// of the daemon ends the run. MCP follows the daemon if it begins with Endpoint.
	Restart func(context.Context) (endpoint string, p Process, err error)
	// Log returns the last lines of the log of a daemon whose process is running. It may be nil.
	Log func() string
	// within is how long a daemon may take to index a document, to ingest a file, to send a frame that
	// is due and to reject a body that does not come. 0 means each one's own limit. Tests set it.
	within time.Duration
	// Done is called with each result as soon as it is available. Calls are not concurrent.
	Done func(Result)
}

// Planned returns the number of checks that Run would run, and the error of an invalid selection.
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
		return c.Own && !o.Reference || c.Group != requirements.GroupMCP && o.Endpoint == "" && o.MCP != ""
	})
	if len(checks) == 0 {
		return nil, errOnlyOwn
	}
	return checks, nil
}

// errOnlyOwn reports a selection of which nothing runs.
var errOnlyOwn = errors.New("the selected checks are about choices of the reference daemon that the specification " +
	"leaves open, and run only against that daemon")

// ErrUnusable reports that no check could run: the daemon does not respond, does not create brains,
// or does not allow deleting them.
var ErrUnusable = errors.New("the daemon cannot be checked")
