package result

import (
	"slices"
	"strings"

	"evalctl/internal/environ"
)

// DaemonEnv names variables of evalctl's environment that a started daemon got or did not get,
// besides the standard ones. Values are never stored.
type DaemonEnv struct {
	// Withheld are variables that look like a credential or a provider's address and were withheld.
	Withheld []string `json:"withheld"`
	// Passed are variables named by the user, and the addresses and keys of its models. The address
	// of an ollama is in neither list, because its models cost nothing.
	Passed []string `json:"passed"`
	// HomeOfUser is set if the daemon had the home and the temporary folder of evalctl's user. A
	// mapped service also had the working folder.
	HomeOfUser bool `json:"home_of_user,omitempty"`
}

// Paying returns the passed variables with which a daemon may spend money.
func (e *DaemonEnv) Paying() []string {
	return slices.DeleteFunc(slices.Clone(e.Passed), func(name string) bool { return !environ.LooksSecret(name) })
}

// Text lists the passed and withheld variables in one line, "" for none.
func (e *DaemonEnv) Text() string {
	if e == nil {
		return ""
	}
	var parts []string
	paying := e.Paying()
	if len(paying) > 0 {
		parts = append(parts, "passed on "+strings.Join(paying, ", ")+" (no cap limits what the daemon pays with it)")
	}
	others := slices.DeleteFunc(slices.Clone(e.Passed), func(name string) bool { return slices.Contains(paying, name) })
	if len(others) > 0 {
		parts = append(parts, "passed on "+strings.Join(others, ", "))
	}
	if len(e.Withheld) > 0 {
		parts = append(parts, "withheld "+strings.Join(e.Withheld, ", "))
	}
	if e.HomeOfUser {
		parts = append(parts, "it had the home of the user, and may have found and left texts there")
	}
	return strings.Join(parts, "; ")
}
