package llm

import (
	"context"
	"errors"
	"fmt"
)

// Witness is called before each attempt that a Meter makes: worst is the charge to assume if the
// process ends. end is called once, with the outcome. An error prevents the attempt, and the call
// returns it. A Witness is called concurrently if calls with its context are.
type Witness func(worst Charge) (end func(outcome string, c Charge), err error)

type witnessKey struct{}

// WithWitness returns a context whose calls have w as their witness.
func WithWitness(ctx context.Context, w Witness) context.Context {
	return context.WithValue(ctx, witnessKey{}, w)
}

// begin calls the context's witness for an attempt, if there is one.
func begin(ctx context.Context, worst Charge) (end func(string, Charge), err error) {
	w, ok := ctx.Value(witnessKey{}).(Witness)
	if !ok {
		return func(string, Charge) {}, nil
	}
	return w(worst)
}

// The outcomes of attempts, other than statuses such as "status 500".
const (
	OutcomeAnswered  = "answered"
	OutcomeNone      = "no usable answer" // a broken connection or stream, silence, or no completion
	OutcomeTimeout   = "timeout"
	OutcomeCancelled = "cancelled"
	outcomePanic     = "panic"
)

// outcomeOf names how an attempt ended.
func outcomeOf(err error) string {
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return OutcomeAnswered
	case ok && e.Status != 0:
		return fmt.Sprintf("status %d", e.Status)
	case errors.Is(err, context.DeadlineExceeded), ok && e.timedOut:
		return OutcomeTimeout
	case errors.Is(err, context.Canceled):
		return OutcomeCancelled
	}
	return OutcomeNone
}

type questionKey struct{}

// WithQuestion returns a context whose calls are for a question, which an Account may record.
func WithQuestion(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, questionKey{}, id)
}

// QuestionOf returns the id of the question that calls with a context are for, empty if it is not
// known.
func QuestionOf(ctx context.Context) string {
	id, _ := ctx.Value(questionKey{}).(string)
	return id
}

type pauseKey struct{}

// WithPause returns a context whose calls call pause before they wait for a cap, and the
// function that it returned afterwards: a caller's own time limit can stand still meanwhile.
func WithPause(ctx context.Context, pause func() (resume func())) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}

// paused calls the context's pause, if there is one.
func paused(ctx context.Context) (resume func()) {
	if pause, ok := ctx.Value(pauseKey{}).(func() func()); ok {
		return pause()
	}
	return func() {}
}
