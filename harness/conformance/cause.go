package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// cause is what the daemon did that keeps a check from being kept. Checks with the same cause are
// one finding. It is made of the request and of what was wrong with the answer, and never of a
// guess.
type cause struct {
	route string // "" if the request does not matter
	what  string // follows the route, such as "returned 500"
	wide  bool   // the same on every route is one cause
	which bool   // the options of the request are a part of its route
	whole bool   // what says everything

	status int // of the response, if the status is the cause
}

// key is equal for causes that are the same.
func (c cause) key() string {
	if c.wide {
		return c.what
	}
	return c.route + "\x00" + c.what
}

// String names a cause by its route.
func (c cause) String() string {
	if c.whole {
		return c.what
	}
	return strings.TrimSpace(c.route + " " + c.what)
}

// failure is the error of a step, with the exchange that it is about and its cause.
type failure struct {
	error
	cause cause // without what: the text of the error
	seen  *exchange
}

func (f failure) Unwrap() error { return f.error }

// because returns an error of an assertion with a cause. Its route is that of the response.
func because(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: cause{what: what}}
}

// onEveryRoute is because for something that is one defect wherever it is seen.
func onEveryRoute(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: cause{what: what, wide: true}}
}

// inResult is because for a wrong result of a request, which may depend on its options.
func inResult(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: cause{what: what, which: true}}
}

// asCause is because for a defect whose name needs no route.
func asCause(what, format string, args ...any) error {
	return failure{error: fmt.Errorf(format, args...), cause: cause{what: what, wide: true, whole: true}}
}

// about adds the exchange to the error of an assertion about its response.
func (x *exchange) about(err error) error {
	if err == nil || x == nil {
		return err
	}
	f, ok := errors.AsType[failure](err)
	if ok && f.seen != nil {
		return err
	}
	f.error, f.seen = err, x
	if f.cause.what != "" && f.cause.route == "" {
		f.cause.route = x.route
		if f.cause.which {
			f.cause.route += x.options
		}
	}
	return f
}

// wantStatus returns the error for a status other than the wanted one, which what describes.
func (r *response) wantStatus(want string, err error) error {
	// A daemon's statuses for errors, and its authentication, are the same everywhere.
	wide := r.status >= 400 && r.status < 500 && !strings.HasPrefix(want, "2") || r.status == 401 || r.status == 403
	return failure{error: err, cause: cause{route: r.route(), what: r.returned(want), wide: wide, status: r.status}, seen: r.seen}
}

func (r *response) route() string {
	if r.seen == nil {
		return r.request
	}
	return r.seen.route
}

// returned describes a status that is not the wanted one. What was wanted matters only if the
// daemon did something that it should not have done: a failure is a failure, whatever it prevents.
func (r *response) returned(want string) string {
	got := fmt.Sprintf("returned %d", r.status)
	switch {
	case r.status >= 500, r.status >= 400 && strings.HasPrefix(want, "2"):
		return got + r.code()
	case r.status >= 400:
		return got + r.code() + ", not " + want
	}
	return got + ", not " + want
}

// code returns the code in a Problem, in parentheses, or "".
func (r *response) code() string {
	const most = 40
	o, err := r.object()
	code, _ := o["code"].(string)
	if err != nil || code == "" || len(code) > most || strings.ContainsFunc(code, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	}) {
		return ""
	}
	return " (" + code + ")"
}

// dueTo returns a step that runs steps and gives their contradictions one cause, wherever it is
// seen.
func dueTo(what string, steps ...step) step {
	return func(ctx context.Context, c *client) error {
		err := c.run(ctx, steps...)
		if !errors.As(err, new(contradiction)) {
			return err
		}
		f, _ := errors.AsType[failure](err)
		if f.seen == nil {
			f.seen = c.last()
		}
		route := ""
		if f.seen != nil {
			route = f.seen.route
		}
		f.error, f.cause = err, cause{route: route, what: what, wide: true}
		return f
	}
}

// afterChange adds the last change to the cause of a contradiction about its effect.
func (c *client) afterChange(err error) error {
	f, ok := errors.AsType[failure](err)
	changed := c.lastChange()
	if !ok || changed == "" || f.cause.what == "" || !errors.As(err, new(contradiction)) {
		return err
	}
	f.error, f.cause.route = err, "after "+changed+", "+f.cause.route
	return f
}

// causeOf returns the cause of an error of a step. last is the last exchange of the check.
func causeOf(err error, last *exchange) (cause, *exchange) {
	f, ok := errors.AsType[failure](err)
	seen := f.seen
	if !ok || seen == nil {
		seen = last
	}
	if f.cause.what != "" {
		return f.cause, seen
	}
	c := cause{what: err.Error()}
	if seen != nil {
		// The text of an error begins with the request, which has names of this check.
		c.what = strings.TrimPrefix(strings.TrimPrefix(c.what, seen.line+": "), seen.route+": ")
		c.route = seen.route + ":"
	}
	// What the daemon sent instead differs from check to check.
	for _, instead := range []string{", got ", ", but "} {
		c.what, _, _ = strings.Cut(c.what, instead)
	}
	return c, seen
}

// explain adds what a check that is not kept was based on: the error of its steps, and the exchange
// that the error is about, or else the last one.
func (d *target) explain(res *Result, err error, last *exchange) {
	res.Detail = d.redactor.Text(err.Error())
	c, seen := causeOf(err, last)
	c.what = shown(c.what, lineBytes, d.redactor.Text)
	res.cause, res.Cause = c, c.String()
	if seen != nil {
		res.Request, res.Response = seen.requestText(d.redactor.Text), seen.responseText(d.redactor.Text)
	}
}
