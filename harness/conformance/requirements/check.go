package requirements

import (
	"path"
	"strings"
)

// Level is the requirement level of a check.
type Level string

// Must marks unconditional requirements of the specification. Should marks its recommendations and
// implications.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
)

// GroupMCP is the group of the tools' checks. All other groups need Config.Endpoint.
const GroupMCP = "mcp"

// Check describes one requirement. Its ID begins with the group and is stable.
type Check struct {
	ID       string `json:"id"`
	Group    string `json:"group"`
	Level    Level  `json:"level"`
	Section  string `json:"section"` // of the specification
	Sentence string `json:"sentence"`
}

// Matches reports whether a selector matches a check: its id, its group, or a glob over ids.
func (c Check) Matches(selector string) bool {
	ok, err := path.Match(selector, c.ID)
	return selector == c.Group || ok && err == nil
}

// check is a Check with its steps, which run in order until one returns an error.
type check struct {
	Check
	needs []need // the first that is not met is the reason
	steps []step
}

func must(id, section, sentence string, steps ...step) check {
	return newCheck(Must, id, section, sentence, steps)
}

func should(id, section, sentence string, steps ...step) check {
	return newCheck(Should, id, section, sentence, steps)
}

func newCheck(l Level, id, section, sentence string, steps []step) check {
	group, _, _ := strings.Cut(id, "-")
	return check{Check: Check{ID: id, Group: group, Level: l, Section: section, Sentence: sentence}, steps: steps}
}

// need is a requirement of a check besides the run's endpoint. If it is not met, the check is not
// judged.
type need struct {
	unmet string
	isMet func(*Target) bool
}

var (
	needToken         = need{"needs a token", func(d *Target) bool { return d.config.Token != "" }}
	needReadOnlyToken = need{"needs a token, and a read-only token", func(d *Target) bool {
		return d.config.Token != "" && d.config.ReadOnlyToken != ""
	}}
	needOtherTenant = need{"needs a token, and a token of another tenant", func(d *Target) bool {
		return d.config.Token != "" && d.config.OtherTenantToken != ""
	}}
	needSlow = need{"takes half a minute: include it with --slow", func(d *Target) bool { return d.config.Slow }}
	needMCP  = need{"needs an MCP server", func(d *Target) bool { return d.tools != nil }}
	// needLocalMCP requires a server that can read files on this machine, after needMCP.
	needLocalMCP = need{"needs an MCP server that is a command on this machine", func(d *Target) bool { return d.tools.local }}
)

// requiring adds a need to checks.
func requiring(n need, checks []check) []check {
	for i := range checks {
		checks[i].needs = append(checks[i].needs, n)
	}
	return checks
}
