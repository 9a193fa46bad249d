// Package conformance checks a daemon against protocol v1.0 with black-box checks over real
// sockets, each of one requirement. Run creates a brain for every check and deletes it afterwards,
// so it can run against a daemon with other data. Package requirements has the checks themselves.
package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"evalctl/harness/conformance/requirements"
)

// Report is the outcome of a run, in catalog order. It is partial if the run stopped before all
// planned checks had a result.
type Report struct {
	Endpoint string `json:"endpoint"`
	// Profile is empty in reports from before there were profiles.
	Profile Profile `json:"profile,omitempty"`
	// MCPVersion is the MCP version agreed with the server of tools, empty if none was asked.
	MCPVersion string    `json:"mcp_version,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS float64   `json:"duration_ms"`
	Planned    int       `json:"planned"`
	Partial    bool      `json:"partial"`
	Results    []Result  `json:"results"`
	// Findings are the causes of the broken checks: MUST first, then by the number of checks.
	Findings []Finding `json:"findings"`
	// Normalised lists deviations that were found once and then removed from the responses to other
	// checks.
	Normalised []string `json:"normalised,omitempty"`
	// Deaths are the times when the daemon stopped answering.
	Deaths []Death `json:"deaths,omitempty"`
	// BrainsLeft are the brains that the run created and could not delete.
	BrainsLeft []string `json:"brains_left,omitempty"`
}

// Count returns the number of results with a level and a verdict in one group, or in all if group
// is empty.
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
// for the full profile, and for a missing or unknown one.
func (r Report) Of() string { return r.Profile.of() }

func (p Profile) of() string {
	if _, ok := profiles[p]; !ok || p == Full {
		return ""
	}
	return " of the profile " + string(p)
}

// NotJudged returns the number of checks without a verdict.
func (r Report) NotJudged() int { return r.Count("", Must, NotJudged) + r.Count("", Should, NotJudged) }

// Groups returns the groups with results, in catalog order.
func (r Report) Groups() []string {
	var groups []string
	for _, res := range r.Results {
		if !slices.Contains(groups, res.Group) {
			groups = append(groups, res.Group)
		}
	}
	return groups
}

// Profile names a set of checks.
type Profile string

// The profiles. Full has all checks. Evaluable has what an evaluation needs to measure a daemon,
// and is equally tolerant. Documents has the documents protocol with the semantics of a store and
// its events, without retrieval, sessions and tools.
const (
	Full      Profile = "full"
	Evaluable Profile = "evaluable"
	Documents Profile = "documents"
)

// profiles maps each profile to selectors of its checks, and of excluded ones.
var profiles = map[Profile]struct{ with, without []string }{
	Full:      {with: []string{"*"}},
	Evaluable: {with: []string{"evaluable"}},
	Documents: {
		with:    []string{"brains", "documents", "listing", "batch", "paths", "limits", "errors", "headers", "events", "auth"},
		without: []string{"limits-search-*", "limits-ask-*", "auth-search-*", "auth-ask-*", "auth-tenant-search-*", "auth-tenant-ask-*"},
	},
}

// errNoCheck means that a selector matches no check.
var errNoCheck = errors.New("no such check or group")

// Checks returns the profile's checks that match any selector, in catalog order. A selector is an
// id, a group, or a glob over ids. Without selectors, Checks returns all checks of the profile. An
// unknown profile, and a selector that matches none of its checks, are errors.
func Checks(p Profile, only []string) ([]Check, error) {
	of, ok := profiles[p]
	if !ok {
		return nil, fmt.Errorf("%w: the profile %q", errNoCheck, p)
	}
	all := slices.DeleteFunc(requirements.All(), func(c Check) bool {
		return !isSelected(c, of.with) || isSelected(c, of.without)
	})
	if len(only) == 0 {
		return all, nil
	}
	for _, selector := range only {
		if _, err := path.Match(selector, ""); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errNoCheck, selector, err)
		}
		if !slices.ContainsFunc(all, func(c Check) bool { return c.Matches(selector) }) {
			return nil, fmt.Errorf("%w%s: %q", errNoCheck, p.of(), selector)
		}
	}
	return slices.DeleteFunc(all, func(c Check) bool { return !isSelected(c, only) }), nil
}

// isSelected reports whether at least one selector matches a check.
func isSelected(c Check, selectors []string) bool { return slices.ContainsFunc(selectors, c.Matches) }

// WithFindings returns a report from before there were findings with a finding for each broken
// check. Other reports are returned unchanged.
func (r Report) WithFindings() Report {
	if r.Findings != nil {
		return r
	}
	for _, level := range []Level{Must, Should} {
		for _, res := range r.Results {
			if res.Level == level && res.Verdict == Broken {
				f := Finding{Cause: cmp.Or(res.Cause, res.Detail)}
				f.add(res)
				r.Findings = append(r.Findings, f)
			}
		}
	}
	return r
}

// Group is a group of checks that are not judged for the same cause.
type Group struct {
	Reason  Reason
	Cause   string
	Results []Result
}

// String describes the reason and the cause of a group.
func (g Group) String() string {
	if g.Reason == ReasonNeed || g.Reason == ReasonOptional {
		return g.Cause // one of a few texts
	}
	return g.Reason.String() + ": " + g.Cause
}

// Unjudged groups the checks without a verdict by reason and cause, the largest group first.
func (r Report) Unjudged() []Group {
	index := map[[2]string]int{}
	var list []Group
	for _, res := range r.Results {
		if res.Verdict != NotJudged {
			continue
		}
		text := cmp.Or(res.Cause, res.Detail)
		key := [2]string{string(res.Reason), text}
		if _, ok := index[key]; !ok {
			index[key] = len(list)
			list = append(list, Group{Reason: res.Reason, Cause: text})
		}
		g := &list[index[key]]
		g.Results = append(g.Results, res)
	}
	slices.SortStableFunc(list, func(a, b Group) int { return cmp.Compare(len(b.Results), len(a.Results)) })
	return list
}
