package target

import (
	"errors"
	"net/http"
	"time"

	"evalctl/harness/result"
)

// Failure is the error of a request without a usable answer. Its text is one line.
type Failure struct {
	result.Failure

	retry      bool
	retryAfter time.Duration // what the daemon asks for, 0 for nothing
	pending    int           // what the daemon still has to do, 0 if it does not say
	shape      bool          // the answer has another form than the protocol's
}

// NewFailure returns a failure after which the same request is not worth repeating. message is one
// line. It may also describe a failure of the answering model.
func NewFailure(kind result.Kind, message string) *Failure {
	return &Failure{Failure: result.Failure{Kind: kind, Message: message}}
}

// ShapeFailure returns the failure for an unreadable answer. All answers of such a service fail in
// this way, so Target.Check ends a run before its first question.
func ShapeFailure(message string) *Failure {
	f := NewFailure(result.KindProtocol, message)
	f.shape = true
	return f
}

// TransientFailure returns a failure after which the same request may succeed. after is the wait
// requested by the service, 0 for none.
func TransientFailure(kind result.Kind, message string, after time.Duration) *Failure {
	f := NewFailure(kind, message)
	f.retry, f.retryAfter = true, after
	return f
}

func (f *Failure) Error() string { return f.Message }

// Retryable reports whether the same request may succeed later.
func (f *Failure) Retryable() bool { return f.retry }

// RetryAfter returns the wait that the daemon requests before the next attempt, 0 for none.
func (f *Failure) RetryAfter() time.Duration { return f.retryAfter }

// Pending returns how much work the daemon must finish before the same request can succeed, 0 if
// unknown.
func (f *Failure) Pending() int { return f.pending }

// AsFailure returns err as the failure of one question; ok is false for errors that concern the
// whole run, such as the end of its context.
func AsFailure(err error) (f *Failure, ok bool) {
	if _, ok := errors.AsType[questionTimeout](err); ok {
		return NewFailure(result.KindTimeout, err.Error()), true
	}
	return errors.AsType[*Failure](err)
}

// Unanswered reports whether the error of a request leaves open what the service would have
// answered: it did not answer, was busy, or failed. Any other answer is final.
func Unanswered(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return err != nil && !ok || ok && (f.retry || f.Status >= 500 && f.Status != http.StatusNotImplemented)
}
