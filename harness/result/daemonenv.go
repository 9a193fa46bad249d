package result

import "strings"

// DaemonEnv names the variables of evalctl's environment that look like a credential or a
// provider's address: those that a started daemon did not get, and those that it got. Their values
// are nowhere. The address of an ollama that evalctl configured the daemon with is in neither list,
// because its models cost nothing.
type DaemonEnv struct {
	Withheld []string `json:"withheld"`
	Passed   []string `json:"passed"`
}

// Text says in one line what was passed on and withheld, "" if nothing was.
func (e *DaemonEnv) Text() string {
	if e == nil {
		return ""
	}
	var parts []string
	if len(e.Passed) > 0 {
		parts = append(parts, "passed on "+strings.Join(e.Passed, ", ")+" (no cap limits what the daemon pays with it)")
	}
	if len(e.Withheld) > 0 {
		parts = append(parts, "withheld "+strings.Join(e.Withheld, ", "))
	}
	return strings.Join(parts, "; ")
}
