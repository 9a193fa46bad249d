package target

import (
	"errors"
	"time"

	"evalctl/harness/result"
)

// Failure is the error of a request that has no usable answer. Its text is one line.
type Failure struct {
	result.Failure

	retry      bool
	retryAfter time.Duration // what the daemon asks for, 0 for nothing
	pending    int           // what the daemon still has to do, 0 if it does not say
	shape      bool          // the answer has another form than the protocol's
}

// NewFailure returns a failure after which the same request is not worth repeating. message is one
// line. It need not be the daemon's: the model that answers may have caused it.
func NewFailure(kind result.Kind, message string) *Failure {
	return &Failure{Failure: result.Failure{Kind: kind, Message: message}}
}

// ShapeFailure returns the failure of an answer that cannot be read. Every answer of such a service
// fails in the same way, so that Target.Check ends a run before its first question.
func ShapeFailure(message string) *Failure {
	f := NewFailure(result.KindProtocol, message)
	f.shape = true
	return f
}

// TransientFailure returns a failure after which the same request may succeed. after is how long the
// service asks its client to wait, 0 for nothing.
func TransientFailure(kind result.Kind, message string, after time.Duration) *Failure {
	f := NewFailure(kind, message)
	f.retry, f.retryAfter = true, after
	return f
}

func (f *Failure) Error() string { return f.Message }

// Retryable reports whether the same request may succeed when it is sent again.
func (f *Failure) Retryable() bool { return f.retry }

// RetryAfter returns how long the daemon asks its client to wait before the request is sent again,
// or 0 if it does not say.
func (f *Failure) RetryAfter() time.Duration { return f.retryAfter }

// Pending returns how much the daemon still has to do until the same request can succeed, or 0 if it
// does not say.
func (f *Failure) Pending() int { return f.pending }

// AsFailure returns err as a failure of one question; ok is false for errors that concern the whole
// run, such as the end of its context.
func AsFailure(err error) (f *Failure, ok bool) {
	if _, ok := errors.AsType[questionTimeout](err); ok {
		return NewFailure(result.KindTimeout, err.Error()), true
	}
	return errors.AsType[*Failure](err)
}
