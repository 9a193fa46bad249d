package requirements

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
)

// Reason says why a check is not judged.
type Reason string

// The values of Reason.
const (
	ReasonNeed      Reason = "need"       // something that the check needs was not given
	ReasonOptional  Reason = "optional"   // the daemon does not show the optional behaviour
	ReasonSetup     Reason = "setup"      // a brain, document or session could not be made
	ReasonObserve   Reason = "observe"    // the effect could not be read back
	ReasonTransport Reason = "transport"  // no answer: refused, reset, cut
	ReasonTimeout   Reason = "timeout"    // no answer in time, also when the check ran alone
	ReasonRateLimit Reason = "rate_limit" // 429
	// ReasonServerError means that requests failed with a status of 5xx each time the check ran,
	// but never the same one.
	ReasonServerError Reason = "server_error"
)

var reasonTexts = map[Reason]string{
	ReasonNeed:        "something that the check needs was not given",
	ReasonOptional:    "the daemon does not show it",
	ReasonSetup:       "the check could not be prepared",
	ReasonObserve:     "the effect could not be observed",
	ReasonTransport:   "no answer",
	ReasonTimeout:     "no answer in time",
	ReasonRateLimit:   "rate limit",
	ReasonServerError: "requests failed, but never the same one",
}

// String describes the reason briefly.
func (r Reason) String() string { return cmp.Or(reasonTexts[r], string(r)) }

// contradiction is the error of a step for an answer that contradicts the check's requirement. Any
// other error leaves the check not judged, so that a new kind of step cannot accuse a daemon by
// accident.
type contradiction struct{ error }

func (e contradiction) Unwrap() error { return e.error }

// brokenf returns a contradiction.
func brokenf(format string, args ...any) error { return contradiction{fmt.Errorf(format, args...)} }

// unjudgedError is the error of a step after which the check cannot be judged.
type unjudgedError struct {
	reason Reason
	err    error
}

func (e unjudgedError) Error() string { return e.err.Error() }
func (e unjudgedError) Unwrap() error { return e.err }

// misplacedError marks a contradiction of one check's requirement, whichever check saw it. It
// breaks that check, and leaves the others not judged.
type misplacedError struct {
	check string
	err   error
}

func (e misplacedError) Error() string { return e.err.Error() }
func (e misplacedError) Unwrap() error { return e.err }

// elsewhere returns the error for a contradiction of another check's requirement.
func elsewhere(check string, err error) error {
	return unjudgedError{ReasonObserve, misplacedError{check, err}}
}

// optional returns the error for optional behaviour that the daemon does not show.
func optional(what string) error {
	return unjudgedError{ReasonOptional, failure{error: errors.New(what), cause: Cause{What: what, Wide: true, Whole: true}}}
}

// errSilence means that something the daemon must do by itself, such as sending an event, did not
// happen in time. It counts only after the check has run alone.
var errSilence = errors.New("nothing came in time")

// errDisturbed marks a contradiction that other checks may have caused. It counts only after the
// check has run alone.
var errDisturbed = errors.New("other checks may have caused it")

// errEnded means that the daemon ended a stream that only the client may end. It counts only after
// the check has run alone.
var errEnded = errors.New("the daemon ended the stream")

var errCheckTimeout = errors.New("the check timed out")

// against marks an assertion's error as a contradiction, unless it leaves the check not judged.
func against(err error) error {
	if err == nil || errors.As(err, new(unjudgedError)) || errors.As(err, new(contradiction)) {
		return err
	}
	return contradiction{err}
}

// verdict reports whether err, from a check's steps, breaks the check, or else why it is not
// judged.
func verdict(err error) (broken bool, reason Reason) {
	u, isUnjudged := errors.AsType[unjudgedError](err)
	switch {
	case err == nil:
		return false, ""
	case errors.As(err, new(contradiction)):
		return true, ""
	case isUnjudged:
		return false, u.reason
	case TimedOut(err):
		return false, ReasonTimeout
	}
	return false, ReasonTransport
}

// countsAlone reports whether a check must run again, alone, before its verdict counts.
func countsAlone(err error) bool {
	return TimedOut(err) || errors.Is(err, errDisturbed) || errors.Is(err, errEnded)
}

// TimedOut reports whether an error means that something did not come in time.
func TimedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, errCheckTimeout) || errors.Is(err, errSilence) ||
		errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}
