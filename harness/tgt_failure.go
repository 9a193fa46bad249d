package harness

import (
	"errors"
	"net/http"
	"time"
)

// AskFailure is the error of a request that has no usable answer. Its text is one line.
type AskFailure struct {
	Failure

	retry      bool
	retryAfter time.Duration // what the daemon asks for, 0 for nothing
}

func newFailure(kind Kind, message string) *AskFailure {
	return &AskFailure{Failure: Failure{Kind: kind, Message: message}}
}

func (f *AskFailure) Error() string { return f.Message }

// Retryable reports whether the same request may succeed when it is sent again.
func (f *AskFailure) Retryable() bool { return f.retry }

// asFailure returns err as a failure of one question. Other errors concern the whole run.
func asFailure(err error) (*AskFailure, bool) {
	if errors.Is(err, errQuestionTimeout) {
		return newFailure(KindTimeout, err.Error()), true
	}
	return errors.AsType[*AskFailure](err)
}

// hasStatus reports whether err is a failure with this HTTP status.
func hasStatus(err error, status int) bool {
	f, ok := errors.AsType[*AskFailure](err)
	return ok && f.Status == status
}

// notServed reports whether a daemon does not have the endpoint at all.
func notServed(err error) bool {
	return hasStatus(err, http.StatusNotFound) || hasStatus(err, http.StatusMethodNotAllowed)
}
