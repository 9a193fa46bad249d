package result

import (
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Failure is the reason why a question has no usable answer.
type Failure struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Status is the HTTP status, 0 for kinds other than KindStatus.
	Status int `json:"status,omitempty"`
}

// Unreachable reports whether nothing listened at the address, so that no request was sent.
func (f Failure) Unreachable() bool {
	return f.Kind == KindTransport && strings.Contains(f.Message, syscall.ECONNREFUSED.Error())
}

// Kind classifies the failures of questions.
type Kind string

// The kinds of failure.
const (
	KindTransport  Kind = "transport"         // no connection, or it broke
	KindTimeout    Kind = "timeout"           // the question's time limit was reached
	KindStatus     Kind = "status"            // an HTTP status outside 2xx
	KindIncomplete Kind = "stream_incomplete" // an ask stream without done
	KindDaemon     Kind = "daemon"            // an error event, or done with ok false
	KindProtocol   Kind = "protocol"          // an answer that cannot be read
	KindReader     Kind = "reader"            // the model that answers in a replay failed
)

// Try is the result of an earlier try at a question.
type Try struct {
	Outcome Outcome `json:"outcome"`
	Passed  bool    `json:"passed"`
	// Reason is the scorer's, Error the daemon's failure.
	Reason string   `json:"reason,omitempty"`
	Error  *Failure `json:"error,omitempty"`
}

// FirstTryRate is the pass rate of the first tries at the questions.
type FirstTryRate struct {
	Passed   int     `json:"passed"`
	Total    int     `json:"total"`
	PassRate float64 `json:"pass_rate"`
	// TriedAgain is the number of questions that were tried more than once.
	TriedAgain int `json:"tried_again"`
}

// Outage reports whether the question failed for an external reason: no connection, the time limit,
// a status on which evalctl retries a request (429, 502, 503, 504), or a judge that did not answer.
// Another try may succeed.
func (r *Record) Outage() bool {
	switch {
	case r.Outcome == Unscored, r.Outcome == Scored:
		return r.JudgeUnanswered
	case r.Outcome != Errored || r.Error == nil:
		return false
	}
	switch r.Error.Kind {
	case KindTransport, KindTimeout:
		return true
	case KindStatus:
		switch r.Error.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
	}
	return false
}

// After returns the record of a try that follows earlier.
func (r Record) After(earlier *Record) Record {
	r.Tries = max(1, earlier.Tries) + 1
	if r.FirstTry = earlier.FirstTry; r.FirstTry == nil {
		r.FirstTry = &Try{Outcome: earlier.Outcome, Passed: earlier.Passed, Reason: earlier.Reason, Error: earlier.Error}
	}
	return r
}

// KeepVerdict returns the record after its answer was judged again in vain: the verdict stays, and
// the judge's requests and their cost are those of the vain judging, whose record is vain. Whoever
// replaces r with it must count the requests of r elsewhere, as a journal does.
func (r Record) KeepVerdict(vain *Record) Record {
	r = r.After(&r)
	r.JudgedAt, r.JudgeMS = vain.JudgedAt, vain.JudgeMS
	r.JudgeAttempts, r.JudgeUsage, r.JudgeUsageEstimated = vain.JudgeAttempts, vain.JudgeUsage, vain.JudgeUsageEstimated
	r.JudgeUSD, r.JudgeCharges = vain.JudgeUSD, vain.JudgeCharges
	r.JudgeCached, r.JudgeSavedUSD = vain.JudgeCached, vain.JudgeSavedUSD
	return r
}

// JudgeAgain returns the record of an answer without its verdicts, so that it can be judged again.
func (r Record) JudgeAgain() Record {
	r = r.After(&r)
	r.Outcome, r.Score, r.Passed, r.Reason = Unscored, nil, false, ""
	r.JudgedAt, r.JudgeMS = time.Time{}, 0
	r.JudgeUnanswered, r.JudgeAttempts, r.JudgeUsage, r.JudgeUsageEstimated = false, 0, nil, false
	r.JudgeUSD, r.JudgeCharges, r.JudgeCached, r.JudgeSavedUSD, r.JudgeAsked = 0, nil, false, 0, ""
	r.JudgeVerdict, r.Cause, r.Original, r.Panel = "", "", nil, nil
	return r
}
