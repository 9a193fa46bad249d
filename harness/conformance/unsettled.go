package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/conformance/requirements"
)

// unsettledShare is the share of requirements, as one in this many, that may remain not judged.
const unsettledShare = 10

// unanswered are the reasons that mean that a daemon, or something before it, did not answer.
var unanswered = []Reason{ReasonTransport, ReasonTimeout, ReasonRateLimit, ReasonServerError}

// advice says what to do about checks that are not judged.
var advice = map[Reason]string{
	ReasonTransport:   "see in the daemon's log why connections end",
	ReasonTimeout:     "allow more time for each answer",
	ReasonRateLimit:   "run fewer checks in parallel, or raise the daemon's rate limit",
	ReasonServerError: "see in the daemon's log why requests fail",
	ReasonSetup:       "see what requests that prepare checks returned",
	ReasonObserve:     "see what requests that read back returned",
}

// applies reports whether the run could have judged the check's requirement.
func (res Result) applies() bool {
	return res.Level == Must && (res.Verdict != NotJudged || res.Reason != ReasonNeed && res.Reason != ReasonOptional)
}

// Unsettled returns why the report is not sufficient to say that a daemon keeps the requirements,
// or "". It is not if more than a tenth of the applicable MUST requirements are not judged, or all
// of a group because the daemon did not answer.
func (r Report) Unsettled() string {
	open, all := 0, 0
	reasons, judgeable, silent := map[Reason]int{}, map[string]int{}, map[string]int{}
	for _, res := range r.Results {
		if !res.applies() {
			continue
		}
		all++
		judgeable[res.Group]++
		if res.Verdict != NotJudged {
			continue
		}
		open++
		reasons[res.Reason]++
		if slices.Contains(unanswered, res.Reason) {
			silent[res.Group]++
		}
	}
	groups := slices.DeleteFunc(r.Groups(), func(g string) bool { return silent[g] == 0 || silent[g] < judgeable[g] })
	if open*unsettledShare <= all && len(groups) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d MUST requirements that apply could not be judged", open, all)
	if len(groups) > 0 {
		text += ", and none of " + strings.Join(groups, ", ")
	}
	return text + ": " + mostFrequent(reasons)
}

// mostFrequent lists the reasons, the most frequent first, and what to do about the first one.
func mostFrequent(reasons map[Reason]int) string {
	list := slices.SortedFunc(maps.Keys(reasons), func(a, b Reason) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range list {
		parts = append(parts, fmt.Sprintf("%d %s", reasons[reason], reason))
	}
	return strings.Join(parts, ", ") + "; " + advice[list[0]]
}

// BrokenError means that a daemon violates requirements of level MUST.
type BrokenError struct{ message string }

func (e *BrokenError) Error() string { return e.message }

// Err returns why a finished run did not pass: a *BrokenError, or an error about requirements that
// could not be judged.
func (r Report) Err() error {
	broken, unsettled := r.Count("", Must, Broken), r.Unsettled()
	if broken > 0 {
		e := &BrokenError{fmt.Sprintf("%d of %d MUST requirements%s are broken", broken, broken+r.Count("", Must, Kept), r.Of())}
		if unsettled != "" {
			e.message += "\nwarning: " + unsettled
		}
		return e
	}
	if r.NotJudged() == len(r.Results) {
		return errors.New("no check could be judged")
	}
	if detail := r.toolsUnreachable(); detail != "" {
		return fmt.Errorf("no check of the MCP server could be judged: %s", detail)
	}
	if unsettled != "" {
		return errors.New(unsettled)
	}
	return nil
}

// toolsUnreachable returns why there was no connection to the MCP server, or "" if there was one.
// Without its checks, the others do not answer what was asked.
func (r Report) toolsUnreachable() (detail string) {
	for _, res := range r.Results {
		switch {
		case res.Group != requirements.GroupMCP:
		case res.Verdict != NotJudged:
			return ""
		case res.Reason == ReasonTransport && detail == "":
			detail = strings.ReplaceAll(res.Detail, "\n", " ")
		}
	}
	return detail
}
