// Package conformance checks a daemon against protocol v1.0: black-box checks over real sockets,
// each of one requirement. Run creates a brain for every check and deletes it afterwards, so it can
// run against a daemon that holds other data.
//
// A check is a list of steps. A step sends a request and asserts something about the response. The
// checks of a group are in the files that begin with the group's name.
package conformance

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Level is the requirement level of a check.
type Level string

// Must marks what the specification requires unconditionally. Should marks what it recommends or
// implies, and what the reference daemon decided for itself; see Check.Own.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
)

// Check describes one requirement. Its ID begins with the group and is stable.
type Check struct {
	ID       string `json:"id"`
	Group    string `json:"group"`
	Level    Level  `json:"level"`
	Section  string `json:"section"` // of the specification
	Sentence string `json:"sentence"`
	// Own is set if the specification leaves the matter open and the reference daemon decided it. The
	// level is SHOULD. The check runs only with Options.Reference.
	Own bool `json:"own,omitempty"`
}

// Result is the outcome of one check. Reason is set if the check is not judged. Detail explains why
// it is not kept, and Cause is what it has in common with others that are not kept. Request and
// Response are the evidence. These four may contain text from the daemon. The run's tokens are
// removed from them. Alone is set if the check was run again alone, because it timed out or
// requests failed beside others.
type Result struct {
	Check
	Verdict    Verdict `json:"verdict"`
	Reason     Reason  `json:"reason,omitempty"`
	Alone      bool    `json:"alone,omitempty"`
	Detail     string  `json:"detail,omitempty"`
	Cause      string  `json:"cause,omitempty"`
	Request    string  `json:"request,omitempty"`
	Response   string  `json:"response,omitempty"`
	DurationMS float64 `json:"duration_ms"`

	cause  cause  // of Cause
	blames string // the check that is about what keeps this one from its end
}

// Report is the outcome of a run, in catalog order. It is partial if the run was stopped before
// each of the planned checks had a result.
type Report struct {
	Endpoint string `json:"endpoint"`
	// Profile is empty in a report that was written before there were profiles.
	Profile    Profile   `json:"profile,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS float64   `json:"duration_ms"`
	Planned    int       `json:"planned"`
	Partial    bool      `json:"partial"`
	Results    []Result  `json:"results"`
	// Findings are the causes of the broken checks: MUST first, then by the number of checks.
	Findings []Finding `json:"findings"`
	// Normalised says which deviations were found once and then removed from the responses that the
	// other checks see.
	Normalised []string `json:"normalised,omitempty"`
	// Deaths are the times at which the daemon stopped answering.
	Deaths []Death `json:"deaths,omitempty"`
	// BrainsLeft are the brains that the run created and could not delete.
	BrainsLeft []string `json:"brains_left,omitempty"`
}

// Count returns the number of results with a level and a verdict in one group, or in all groups if
// group is empty.
func (r Report) Count(group string, l Level, v Verdict) int {
	n := 0
	for _, res := range r.Results {
		if (group == "" || res.Group == group) && res.Level == l && res.Verdict == v {
			n++
		}
	}
	return n
}

// Of names the profile for the end of a sentence, as in " of the profile evaluable". It is empty
// for all checks, and for a report without a profile or with one that does not exist.
func (r Report) Of() string { return r.Profile.of() }

func (p Profile) of() string {
	if _, ok := profiles[p]; !ok || p == Full {
		return ""
	}
	return " of the profile " + string(p)
}

// NotJudged returns the number of checks without a verdict in one group, or in all groups if group
// is empty.
func (r Report) NotJudged(group string) int {
	return r.Count(group, Must, NotJudged) + r.Count(group, Should, NotJudged)
}

// Groups returns the groups that have results, in catalog order.
func (r Report) Groups() []string {
	var groups []string
	for _, res := range r.Results {
		if !slices.Contains(groups, res.Group) {
			groups = append(groups, res.Group)
		}
	}
	return groups
}

// Profile names what a daemon is checked for.
type Profile string

// The profiles. Full has all checks. Evaluable has what an evaluation needs to measure a daemon,
// and tolerates what it tolerates. Documents has the documents protocol with the semantics of a
// store and its events, without retrieval, sessions and tools.
const (
	Full      Profile = "full"
	Evaluable Profile = "evaluable"
	Documents Profile = "documents"
)

// profiles are the selectors of the checks that a profile has, and of those that it has not.
var profiles = map[Profile]struct{ with, without []string }{
	Full:      {with: []string{"*"}},
	Evaluable: {with: []string{"evaluable"}},
	Documents: {
		with:    []string{"brains", "documents", "listing", "batch", "paths", "limits", "errors", "headers", "events", "auth"},
		without: []string{"limits-search-*", "limits-ask-*", "auth-search-*", "auth-ask-*", "auth-tenant-search-*", "auth-tenant-ask-*"},
	},
}

// errNoCheck reports that a selector matches no check.
var errNoCheck = errors.New("no such check or group")

// Checks returns the checks of a profile that match at least one selector, in catalog order. A
// selector is an id, a group, or a glob over ids. Without selectors Checks returns all checks of
// the profile. A profile that does not exist, and a selector that matches no check of it, are
// errors.
func Checks(p Profile, only []string) ([]Check, error) {
	selected, err := selectChecks(p, only)
	if err != nil {
		return nil, err
	}
	list := make([]Check, len(selected))
	for i, c := range selected {
		list[i] = c.Check
	}
	return list, nil
}

func selectChecks(p Profile, only []string) ([]check, error) {
	of, ok := profiles[p]
	if !ok {
		return nil, fmt.Errorf("%w: the profile %q", errNoCheck, p)
	}
	all := slices.DeleteFunc(slices.Clone(catalog()), func(c check) bool {
		return !c.isSelected(of.with) || c.isSelected(of.without)
	})
	if len(only) == 0 {
		return all, nil
	}
	for _, selector := range only {
		if _, err := path.Match(selector, ""); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errNoCheck, selector, err)
		}
		if !slices.ContainsFunc(all, func(c check) bool { return c.isSelected([]string{selector}) }) {
			return nil, fmt.Errorf("%w%s: %q", errNoCheck, p.of(), selector)
		}
	}
	return slices.DeleteFunc(all, func(c check) bool { return !c.isSelected(only) }), nil
}

// isSelected reports whether at least one selector matches a check.
func (c check) isSelected(selectors []string) bool {
	return slices.ContainsFunc(selectors, func(s string) bool { return s == c.Group || matches(s, c.ID) })
}

// matches reports whether an id matches a valid glob.
func matches(glob, id string) bool {
	ok, err := path.Match(glob, id)
	return ok && err == nil
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

// catalog has all checks. They keep nothing between runs, so that all runs of a process share them.
var catalog = sync.OnceValue(func() []check {
	return markOwn(slices.Concat(
		brainChecks(), documentChecks(), recordChecks(), listingChecks(), batchChecks(), pathChecks(), limitChecks(),
		errorChecks(), headerChecks(), eventChecks(), authChecks(), searchChecks(), askChecks(), sessionChecks(),
		ingestChecks(), mcpChecks(), evaluableChecks(),
	))
})
