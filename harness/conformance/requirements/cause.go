package requirements

import (
	"errors"
	"fmt"
	"strings"
)

// Cause is the daemon's behaviour that makes a check fail. Checks with the same cause form one
// finding. A cause is derived from the request and the fault in the answer, never guessed.
type Cause struct {
	Route string // the endpoint or the tool; "" if it does not matter
	What  string // follows the route, such as "returned 500"
	Wide  bool   // the same on every route is one cause
	Whole bool   // What says everything

	Status int // of the response, if it is the cause

	which bool // the options of the request are a part of its route
}

// Key is equal for equal causes.
func (c Cause) Key() string {
	if c.Wide {
		return c.What
	}
	return c.Route + "\x00" + c.What
}

// String names a cause by its route.
func (c Cause) String() string {
	if c.Whole {
		return c.What
	}
	return strings.TrimSpace(c.Route + " " + c.What)
}

// failure is the error of a step, with its exchange and cause.
type failure struct {
	error
	cause Cause // without what: the text of the error
	seen  *exchange
}

func (f failure) Unwrap() error { return f.error }

// because returns an assertion's error with a cause on the response's route.
func because(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: Cause{What: what}}
}

// onEveryRoute is because for a defect that is the same on every route.
func onEveryRoute(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: Cause{What: what, Wide: true}}
}

// inResult is because for a wrong result, which may depend on the request's options.
func inResult(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: Cause{What: what, which: true}}
}

// asCause is because for a defect whose name needs no route.
func asCause(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: Cause{What: what, Wide: true, Whole: true}}
}

// about adds the exchange to an assertion's error about its response.
func (x *exchange) about(err error) error {
	if err == nil || x == nil {
		return err
	}
	f, ok := errors.AsType[failure](err)
	if ok && f.seen != nil {
		return err
	}
	f.error, f.seen = err, x
	if f.cause.What != "" && f.cause.Route == "" {
		f.cause.Route = x.route
		if f.cause.which {
			f.cause.Route += x.options
		}
	}
	return f
}

// causeOf returns the cause of a step's error. last is the check's last exchange.
func causeOf(err error, last *exchange) (Cause, *exchange) {
	f, ok := errors.AsType[failure](err)
	seen := f.seen
	if !ok || seen == nil {
		seen = last
	}
	if f.cause.What != "" {
		return f.cause, seen
	}
	c := Cause{What: err.Error()}
	if seen != nil {
		// The error text begins with the request, which contains names specific to this check.
		c.What = strings.TrimPrefix(strings.TrimPrefix(c.What, seen.line+": "), seen.route+": ")
		c.Route = seen.route + ":"
	}
	// The daemon's actual answer differs from check to check.
	for _, instead := range []string{", got ", ", but "} {
		c.What, _, _ = strings.Cut(c.What, instead)
	}
	return c, seen
}
