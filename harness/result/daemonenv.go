package result

import "strings"

// DaemonEnv names the variables of evalctl's environment that look like a credential or a
// provider's address: those that a started daemon did not get, and those that it got. Their values
// are nowhere.
type DaemonEnv struct {
	Withheld []string `json:"withheld"`
	Passed   []string `json:"passed"`
}

// Text says in one line what was withheld and passed, "" if nothing was. The names in it must be
// escaped.
func (e *DaemonEnv) Text() string {
	if e == nil {
		return ""
	}
	var parts []string
	if len(e.Withheld) > 0 {
		parts = append(parts, "withheld "+strings.Join(e.Withheld, ", "))
	}
	if len(e.Passed) > 0 {
		parts = append(parts, "passed on "+strings.Join(e.Passed, ", ")+": what the daemon pays with that, no cap limits")
	}
	return strings.Join(parts, "; ")
}
