package target

import (
	"errors"
	"net/http"
	"time"

	"evalctl/harness/result"
)

// Failure is the error of a request that has no usable answer. Its text is one line.
type Failure struct {
	result.Failure

	retry      bool
	retryAfter time.Duration // what the daemon asks for, 0 for nothing
}

func newFailure(kind result.Kind, message string) *Failure {
	return &Failure{Failure: result.Failure{Kind: kind, Message: message}}
}

func (f *Failure) Error() string { return f.Message }

// Retryable reports whether the same request may succeed when it is sent again.
func (f *Failure) Retryable() bool { return f.retry }

// AsFailure returns err as a failure of one question; ok is false for errors that concern the whole
// run, such as the end of its context.
func AsFailure(err error) (f *Failure, ok bool) {
	if _, ok := errors.AsType[questionTimeout](err); ok {
		return newFailure(result.KindTimeout, err.Error()), true
	}
	return errors.AsType[*Failure](err)
}

// hasStatus reports whether err is a failure with this HTTP status.
func hasStatus(err error, status int) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Status == status
}

// notServed reports whether a daemon does not have the endpoint at all.
func notServed(err error) bool {
	return hasStatus(err, http.StatusNotFound) || hasStatus(err, http.StatusMethodNotAllowed)
}
