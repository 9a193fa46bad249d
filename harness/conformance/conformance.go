// Package conformance asks a daemon whether it keeps protocol v1.0: black-box
// checks over real sockets, each of one promise. Run makes a brain of its own
// for every check and deletes it afterwards, so it can run against a daemon
// that holds other people's memory.
package conformance

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Level says how binding a check is.
type Level string

// Must is what the specification says unconditionally. Should is what it
// recommends, and what it leaves open and the reference daemon decided.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
)

// Status of a check that was run. A check that could not be judged, because it
// needs a token or something that the daemon is free not to do, is skipped.
type Status string

// The statuses.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Check is one promise. Its ID begins with the group and is stable.
type Check struct {
	ID       string `json:"id"`
	Group    string `json:"group"`
	Level    Level  `json:"level"`
	Section  string `json:"section"` // of the specification
	Sentence string `json:"sentence"`
}

// Result is the outcome of one check. Detail, of a check that did not pass,
// and Request, the last request that was answered, hold text of the daemon's,
// but not the run's tokens, which it may send back.
type Result struct {
	Check
	Status     Status  `json:"status"`
	Detail     string  `json:"detail,omitempty"`
	Request    string  `json:"request,omitempty"`
	DurationMS float64 `json:"duration_ms"`
}

// Report is the outcome of a run, in the order of the catalogue. It is partial
// when the run was stopped before every one of the planned checks had a result.
type Report struct {
	Endpoint   string    `json:"endpoint"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS float64   `json:"duration_ms"`
	Planned    int       `json:"planned"`
	Partial    bool      `json:"partial"`
	Results    []Result  `json:"results"`
}

// Count returns how many results have the level and status, in one group or,
// with an empty group, in all.
func (r Report) Count(group string, l Level, s Status) int {
	n := 0
	for _, res := range r.Results {
		if (group == "" || res.Group == group) && res.Level == l && res.Status == s {
			n++
		}
	}
	return n
}

// Skipped returns how many checks were skipped.
func (r Report) Skipped() int { return r.Count("", Must, Skip) + r.Count("", Should, Skip) }

// Groups returns the groups that have results, in the order of the catalogue.
func (r Report) Groups() []string {
	var groups []string
	for _, res := range r.Results {
		if !slices.Contains(groups, res.Group) {
			groups = append(groups, res.Group)
		}
	}
	return groups
}

// ErrNoCheck tells that a selection names no check.
var ErrNoCheck = errors.New("no such check or group")

// Checks returns the checks that only selects: by id, by group, or by a glob
// over ids. An empty selection is everything. A selector that selects nothing
// is ErrNoCheck.
func Checks(only []string) ([]Check, error) {
	selected, err := choose(only)
	if err != nil {
		return nil, err
	}
	list := make([]Check, len(selected))
	for i, c := range selected {
		list[i] = c.Check
	}
	return list, nil
}

func choose(only []string) ([]check, error) {
	all := catalogue()
	if len(only) == 0 {
		return all, nil
	}
	chosen := make([]bool, len(all))
	for _, selector := range only {
		found := false
		for i, c := range all {
			ok, err := path.Match(selector, c.ID)
			if err != nil {
				return nil, fmt.Errorf("%w: %q: %w", ErrNoCheck, selector, err)
			}
			if ok || selector == c.Group {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: %q", ErrNoCheck, selector)
		}
	}
	var selected []check
	for i, c := range all {
		if chosen[i] {
			selected = append(selected, c)
		}
	}
	return selected, nil
}

// check is a Check with what it does: steps that are taken one after the
// other, until one returns an error.
type check struct {
	Check
	needs credential
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

func catalogue() []check {
	return slices.Concat(
		brainChecks(), documentChecks(), recordChecks(), listingChecks(), batchChecks(), pathChecks(), limitChecks(),
		errorChecks(), headerChecks(), eventChecks(), authChecks(), searchChecks(), askChecks(),
	)
}
