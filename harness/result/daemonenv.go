package result

import (
	"slices"
	"strings"
)

// DaemonEnv names the variables of evalctl's environment that look like a credential or a
// provider's address: those that a started daemon did not get, and those that it got. Their values
// are nowhere. The address of an ollama that evalctl configured the daemon with is in neither list,
// because its models cost nothing.
type DaemonEnv struct {
	Withheld []string `json:"withheld"`
	Passed   []string `json:"passed"`
}

// Text says in one line what was passed on and withheld, "" if nothing was. quote escapes each name
// for the output; nil leaves them as they are.
func (e *DaemonEnv) Text(quote func(string) string) string {
	if e == nil {
		return ""
	}
	var parts []string
	if len(e.Passed) > 0 {
		parts = append(parts, "passed on "+listed(e.Passed, quote)+" (no cap limits what the daemon pays with it)")
	}
	if len(e.Withheld) > 0 {
		parts = append(parts, "withheld "+listed(e.Withheld, quote))
	}
	return strings.Join(parts, "; ")
}

func listed(names []string, quote func(string) string) string {
	if quote != nil {
		names = slices.Clone(names)
		for i, name := range names {
			names[i] = quote(name)
		}
	}
	return strings.Join(names, ", ")
}
