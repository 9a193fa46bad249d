package conformance

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"evalctl/harness/conformance/requirements"
)

// ErrDied means that the daemon stopped answering during a run.
var ErrDied = requirements.ErrDied

// pulse is how long no check may end before the daemon's health is checked.
const pulse = 5 * time.Second

// Process is the process of a daemon started for the run.
type Process interface {
	// Done is closed when the process has ended.
	Done() <-chan struct{}
	// Err says how the process ended, with the end of its log. It is called after Done.
	Err() error
}

// Death says when a daemon stopped answering, and which check caused it, if known.
type Death struct {
	// After is the first check without an answer, empty if no check was running.
	After string `json:"after"`
	// Probing is set if the daemon died before the checks, during the first requests of the run.
	Probing bool `json:"probing,omitempty"`
	// Running are the other checks running at the time.
	Running []string `json:"running,omitempty"`
	// Killer is the check during which the restarted daemon died again while no other check was
	// running. It is empty if the daemon was not restarted, or if no single check makes it die.
	Killer string `json:"killer,omitempty"`
	// Request is the last request of Killer, or else of After. Before the checks it is the first
	// request without an answer.
	Request string `json:"request,omitempty"`
	// Cause is the output of the daemon's health check or process. It may contain lines of the
	// daemon's log.
	Cause string `json:"cause"`
	// Restarted is set if the daemon was restarted and the run continued.
	Restarted bool `json:"restarted"`
}

func (d Death) String() string {
	text := "while no check was running"
	switch {
	case d.Probing:
		line, _, _ := strings.Cut(d.Request, "\n")
		text = "before the checks"
		if line != "" {
			text += ", at " + line
		}
	case d.Killer != "":
		text = "during " + d.Killer + ", and again when only this check was running"
	case d.After != "":
		text = "during " + d.After
		if len(d.Running) > 0 {
			text += fmt.Sprintf(" (also running: %s)", strings.Join(d.Running, ", "))
		}
		if d.Restarted {
			text += ", but not again when each of these checks ran alone"
		}
	}
	return text + ": " + d.Cause
}

// Restarted reports whether the daemon died and was restarted.
func (r Report) Restarted() bool {
	return slices.ContainsFunc(r.Deaths, func(d Death) bool { return d.Restarted })
}

// place returns the method and the last segment of the path of the request, such as "POST search".
func (d Death) place() string {
	line, _, _ := strings.Cut(d.Request, "\n")
	line, _, _ = strings.Cut(line, "?")
	method, p, _ := strings.Cut(line, " ")
	return method + " " + path.Base(p)
}

// suspects returns the checks that may have caused the death.
func (d Death) suspects() []string {
	if d.Killer != "" {
		return []string{d.Killer}
	}
	return slices.DeleteFunc(append([]string{d.After}, d.Running...), func(id string) bool { return id == "" })
}

// deathFindings returns a finding for each check that makes the daemon die, and one for all deaths
// of unknown cause. The latter has no section and no sentence, because no requirement is to blame.
func deathFindings(deaths []Death, checks []Check, withoutResult int) []Finding {
	var found []Finding
	var unknown *Finding
	for _, d := range deaths {
		if d.Probing && slices.ContainsFunc(deaths, func(o Death) bool { return o.Killer != "" && o.place() == d.place() }) {
			continue // the check that does the same is the finding
		}
		f := Finding{Cause: ErrDied.Error(), Request: d.Request, Detail: "the daemon died " + d.String()}
		suspects := d.suspects()
		if d.Killer == "" && unknown != nil {
			suspects = append(suspects, unknown.Checks...)
			f = *unknown
			f.Checks = nil
		}
		for _, c := range checks {
			if !slices.Contains(suspects, c.ID) {
				continue
			}
			f.Checks = append(f.Checks, c.ID)
			if f.Level != Must {
				f.Level = c.Level
			}
			if d.Killer != "" {
				f.Cause += " during " + c.ID
				f.Section, f.Sentence = c.Section, c.Sentence
			}
		}
		if len(f.Checks) == 0 {
			f.Level = Must // whatever the requirement, a daemon answers
		}
		if d.Killer != "" {
			found = append(found, f)
		} else {
			unknown = &f
		}
	}
	if unknown != nil {
		unknown.NotJudged = withoutResult
		found = append(found, *unknown)
	}
	return found
}
