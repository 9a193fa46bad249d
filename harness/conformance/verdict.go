package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
)

// Verdict is the outcome of a check. A check is broken only if an answer of the daemon contradicts
// its requirement. Everything else that keeps a check from its end, such as a refused connection, a
// timeout or a document that could not be created, leaves it not judged.
type Verdict string

// The values of Verdict.
const (
	Kept      Verdict = "kept"
	Broken    Verdict = "broken"
	NotJudged Verdict = "not_judged"
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
	// ReasonServerError means that requests failed with a status of 5xx each time that the check ran,
	// but never the same one.
	ReasonServerError Reason = "server_error"
)

// String describes the reason in a few words.
func (r Reason) String() string {
	switch r {
	case ReasonNeed:
		return "something that the check needs was not given"
	case ReasonOptional:
		return "the daemon does not show it"
	case ReasonSetup:
		return "the check could not be prepared"
	case ReasonObserve:
		return "the effect could not be observed"
	case ReasonTransport:
		return "no answer"
	case ReasonTimeout:
		return "no answer in time"
	case ReasonRateLimit:
		return "rate limit"
	case ReasonServerError:
		return "requests failed, but never the same one"
	}
	return string(r)
}

// contradiction is the error of a step for an answer that contradicts the requirement of the check.
// Any other error of a step leaves the check not judged, so a new kind of step cannot accuse a
// daemon by accident.
type contradiction struct{ error }

func (e contradiction) Unwrap() error { return e.error }

// brokenf returns a contradiction.
func brokenf(format string, args ...any) error { return contradiction{fmt.Errorf(format, args...)} }

// unjudged is the error of a step after which the check cannot be judged.
type unjudged struct {
	reason Reason
	err    error
}

func (e unjudged) Error() string { return e.err.Error() }
func (e unjudged) Unwrap() error { return e.err }

// belongs is in the error of a step for what contradicts the requirement of one check, whichever
// check saw it: it breaks that check, and leaves the others not judged.
type belongs struct {
	check string
	err   error
}

func (e belongs) Error() string { return e.err.Error() }
func (e belongs) Unwrap() error { return e.err }

// elsewhere returns the error for a contradiction of the requirement of a check.
func elsewhere(check string, err error) error {
	return unjudged{ReasonObserve, belongs{check, err}}
}

// judge sets the verdict on a check whose steps returned err.
func (res *Result) judge(err error) {
	res.Verdict, res.Reason = verdict(err)
	if b, ok := errors.AsType[belongs](err); ok && res.Verdict == NotJudged {
		if res.blames = b.check; b.check == res.ID {
			res.Verdict, res.Reason = Broken, ""
		}
	}
}

// blame breaks the checks whose requirement the answers to other checks contradict.
func blame(results []Result) {
	for _, res := range results {
		i := slices.IndexFunc(results, func(r Result) bool { return r.ID == res.blames })
		if i < 0 || res.Reason != ReasonObserve || results[i].Verdict == Broken {
			continue
		}
		seen := res
		seen.Check, seen.Verdict, seen.Reason, seen.blames = results[i].Check, Broken, "", ""
		seen.DurationMS = results[i].DurationMS
		results[i] = seen
	}
}

// optional returns the error for optional behaviour that the daemon does not show.
func optional(what string) error {
	return unjudged{ReasonOptional, failure{error: errors.New(what), cause: cause{what: what, wide: true, whole: true}}}
}

// errSilence means that something that the daemon must do by itself, such as sending an event, did
// not happen in time. It counts only after the check ran alone.
var errSilence = errors.New("nothing came in time")

// errDisturbed marks a contradiction that other checks may have caused. It counts only after the
// check ran alone.
var errDisturbed = errors.New("other checks may have caused it")

// against marks the error of an assertion as a contradiction. An error that is not judged remains.
func against(err error) error {
	if err == nil || errors.As(err, new(unjudged)) || errors.As(err, new(contradiction)) {
		return err
	}
	return contradiction{err}
}

// setup runs steps that prepare a check. What goes wrong in them is not the check's requirement, so
// it leaves the check not judged.
func setup(steps ...step) step { return withoutVerdict(ReasonSetup, "prepare the check", steps) }

func withoutVerdict(reason Reason, what string, steps []step) step {
	return func(ctx context.Context, c *client) error {
		err := c.run(ctx, steps...)
		if errors.As(err, new(contradiction)) {
			// Without the chain: a contradiction in it would be a verdict.
			f, _ := errors.AsType[failure](err)
			f.error = fmt.Errorf("%s: %s", what, err.Error())
			return unjudged{reason, f}
		}
		return err
	}
}

// unobservable returns why a response does not show what a check wants to see: the request failed
// for another reason than the one that the check is about.
func unobservable(r *response) error {
	if r.status >= 500 || slices.Contains([]int{401, 403, 405}, r.status) {
		return unjudged{ReasonObserve, r.wantStatus("2xx", fmt.Errorf("the effect cannot be observed: %s", r))}
	}
	return nil
}

// verdict returns the verdict on a check whose steps returned err.
func verdict(err error) (Verdict, Reason) {
	u, isUnjudged := errors.AsType[unjudged](err)
	switch {
	case err == nil:
		return Kept, ""
	case errors.As(err, new(contradiction)):
		return Broken, ""
	case isUnjudged:
		return NotJudged, u.reason
	case timedOut(err):
		return NotJudged, ReasonTimeout
	}
	return NotJudged, ReasonTransport
}

// countsAlone reports whether a check must run again, alone, before its verdict counts.
func countsAlone(err error) bool {
	return timedOut(err) || errors.Is(err, errDisturbed) || errors.Is(err, errEnded)
}

// timedOut reports whether an error is about something that did not come in time.
func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, errCheckTimeout) || errors.Is(err, errSilence) ||
		errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}
