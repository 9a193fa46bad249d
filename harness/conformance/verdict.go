package conformance

import (
	"slices"
	"time"

	"evalctl/harness/conformance/requirements"
)

type (
	// Check describes one requirement.
	Check = requirements.Check
	// Level is the requirement level of a check.
	Level = requirements.Level
	// Reason says why a check is not judged.
	Reason = requirements.Reason
)

// The values of Level and Reason; see package requirements.
const (
	Must   = requirements.Must
	Should = requirements.Should

	ReasonNeed        = requirements.ReasonNeed
	ReasonOptional    = requirements.ReasonOptional
	ReasonSetup       = requirements.ReasonSetup
	ReasonObserve     = requirements.ReasonObserve
	ReasonTransport   = requirements.ReasonTransport
	ReasonTimeout     = requirements.ReasonTimeout
	ReasonRateLimit   = requirements.ReasonRateLimit
	ReasonServerError = requirements.ReasonServerError
)

// Verdict is the outcome of a check. A check is broken only if an answer of the daemon contradicts
// its requirement. Anything else that prevents its completion, such as a refused connection, a
// timeout or a document that could not be created, leaves it not judged.
type Verdict string

// The values of Verdict.
const (
	Kept      Verdict = "kept"
	Broken    Verdict = "broken"
	NotJudged Verdict = "not_judged"
)

// Result is the outcome of one check. Reason is set if the check is not judged. Detail explains why
// it is not kept, and Cause is what it shares with other checks that are not kept. Request and
// Response are the evidence. These four may contain text from the daemon, without the run's tokens.
// Alone is set if the check was rerun alone, because it timed out or had failed requests while
// others ran.
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

	found requirements.Outcome // what the verdict is based on
}

// judge sets the verdict on a check and its evidence.
func (res *Result) judge(o requirements.Outcome) {
	res.Verdict, res.Reason = Kept, o.Reason
	switch {
	case o.Broken:
		res.Verdict = Broken
	case o.Reason != "":
		res.Verdict = NotJudged
	}
	res.Detail, res.Cause, res.Request, res.Response = o.Detail, o.Cause.String(), o.Request, o.Response
	res.found = o
}

// isSuspicious reports whether the daemon may be dead after this result.
func (res *Result) isSuspicious() bool {
	return res.found.Again || res.Reason == ReasonTransport || res.Verdict != Kept && res.found.ServerError
}

// accuse breaks the check for a deviation, if it ran and did not see the deviation itself.
func accuse(results []Result, d requirements.Deviation) {
	i := slices.IndexFunc(results, func(r Result) bool { return r.ID == d.Check })
	if i >= 0 && results[i].Verdict != Broken {
		results[i].judge(d.Outcome)
	}
}

// blame breaks the checks whose requirements are contradicted by answers to other checks.
func blame(results []Result) {
	for _, res := range results {
		i := slices.IndexFunc(results, func(r Result) bool { return r.ID == res.found.Blames })
		if i < 0 || res.Reason != ReasonObserve || results[i].Verdict == Broken {
			continue
		}
		seen := res
		seen.Check, seen.Verdict, seen.Reason, seen.found.Blames = results[i].Check, Broken, "", ""
		seen.DurationMS = results[i].DurationMS
		results[i] = seen
	}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
