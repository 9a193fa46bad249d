package requirements

import (
	"path"
	"strings"
)

// Level is the requirement level of a check.
type Level string

// Must marks what the specification requires unconditionally. Should marks what it recommends or
// implies, and what the reference daemon decided for itself; see Check.Own.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
)

// GroupMCP is the group of the checks of the tools. All other groups need Config.Endpoint.
const GroupMCP = "mcp"

// Check describes one requirement. Its ID begins with the group and is stable.
type Check struct {
	ID       string `json:"id"`
	Group    string `json:"group"`
	Level    Level  `json:"level"`
	Section  string `json:"section"` // of the specification
	Sentence string `json:"sentence"`
	// Own is set if the specification leaves the matter open and the reference daemon decided it. The
	// level is SHOULD. The check runs only against that daemon.
	Own bool `json:"own,omitempty"`
}

// Matches reports whether a selector matches a check: its id, its group, or a glob over ids.
func (c Check) Matches(selector string) bool {
	ok, err := path.Match(selector, c.ID)
	return selector == c.Group || ok && err == nil
}

// check is a Check with its steps, which run in order until one returns an error.
type check struct {
	Check
	needs need
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

// need is what a check needs in addition to the run's endpoint.
type need int

const (
	needNothing need = iota
	needToken
	needReadOnlyToken
	needOtherTenant
	needSlow // Config.Slow
	needMCP
	needLocalMCP // a server that can read the files of this machine
)

// requiring returns the checks with a need.
func requiring(need need, checks []check) []check {
	for i := range checks {
		checks[i].needs = need
	}
	return checks
}

// unmet returns why a check cannot be judged, or "".
func (d *Target) unmet(need need) string {
	switch {
	case need == needToken && d.config.Token == "":
		return "needs a token"
	case need == needReadOnlyToken && (d.config.Token == "" || d.config.ReadOnlyToken == ""):
		return "needs a token, and a read-only token"
	case need == needOtherTenant && (d.config.Token == "" || d.config.OtherTenantToken == ""):
		return "needs a token, and a token of another tenant"
	case (need == needMCP || need == needLocalMCP) && d.tools == nil:
		return "needs an MCP server"
	case need == needLocalMCP && !d.tools.local:
		return "needs an MCP server that is a command on this machine"
	case need == needSlow && !d.config.Slow:
		return "takes half a minute: include it with the option for slow checks"
	}
	return ""
}
