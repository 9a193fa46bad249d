package requirements

import (
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
)

// assertion checks one property of a response.
type assertion func(*response) error

// verify returns a contradiction if the response does not have the status, or if an assertion
// returns an error.
func (r *response) verify(status int, assertions ...assertion) error {
	if status != 0 && r.status != status {
		return contradiction{r.wantStatus(fmt.Sprint(status), fmt.Errorf("want status %d, but %s", status, r))}
	}
	for _, assert := range assertions {
		if err := assert(r); err != nil {
			return r.seen.about(against(fmt.Errorf("%s: %w", r.request, err)))
		}
	}
	return nil
}

// hasStatus requires a status, or accepts any if it is 0.
func hasStatus(status int) assertion {
	return func(r *response) error { return r.verify(status) }
}

func isSuccess(r *response) error {
	if r.status/100 != 2 {
		return r.wantStatus("2xx", fmt.Errorf("want a 2xx status, got %d %s", r.status, excerpt(r.body)))
	}
	return nil
}

func isErrorStatus(r *response) error {
	if r.status < 400 {
		return r.wantStatus("an error", fmt.Errorf("want an error status, got %d %s", r.status, excerpt(r.body)))
	}
	return nil
}

// given requires a status for the check to be judged.
func given(status int) assertion {
	return func(r *response) error {
		if r.status != status {
			return unjudgedError{ReasonSetup, r.wantStatus(fmt.Sprint(status),
				fmt.Errorf("the check is about a response with status %d, but %s", status, r))}
		}
		return nil
	}
}

// given2xx is given for the statuses from 200 to 299.
func given2xx(r *response) error {
	if err := isSuccess(r); err != nil {
		return unjudgedError{ReasonSetup, fmt.Errorf("prepare the check: %w", err)}
	}
	return nil
}

// givenError is given for the statuses from 400 to 499. A failing daemon does not reject anything.
func givenError(r *response) error {
	if r.status >= 500 {
		return unjudgedError{ReasonSetup, r.wantStatus("an error",
			fmt.Errorf("the check is about a rejected request, but %s", r))}
	}
	if err := isErrorStatus(r); err != nil {
		return unjudgedError{ReasonSetup, err}
	}
	return nil
}

func statusIn(statuses ...int) assertion {
	return func(r *response) error {
		if !slices.Contains(statuses, r.status) {
			return r.wantStatus(orOf(statuses),
				fmt.Errorf("want one of the statuses %v, got %d %s", statuses, r.status, excerpt(r.body)))
		}
		return nil
	}
}

func bodyIs(text string) assertion {
	return func(r *response) error {
		if string(r.body) != text {
			return inResult("returned other content", "want the body %s, got %s", excerpt([]byte(text)), excerpt(r.body))
		}
		return nil
	}
}

// orOf lists statuses as in "400 or 413".
func orOf(statuses []int) string {
	texts := make([]string, len(statuses))
	for i, s := range statuses {
		texts[i] = fmt.Sprint(s)
	}
	return strings.Join(texts, " or ")
}

// hasMediaType requires one of several media types, with any parameters.
func hasMediaType(types ...string) assertion {
	return func(r *response) error {
		got, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
		if err != nil || !slices.Contains(types, got) {
			want, differs := strings.Join(types, " or "), because
			if r.status >= 400 {
				differs = onEveryRoute
			}
			return differs("has another Content-Type than "+want, "want Content-Type %s, got %q", want, r.header.Get("Content-Type"))
		}
		return nil
	}
}

// hasCacheControl requires a directive of Cache-Control.
func hasCacheControl(directive string) assertion {
	return func(r *response) error {
		for _, line := range r.header.Values("Cache-Control") {
			for d := range strings.SplitSeq(line, ",") {
				if strings.EqualFold(strings.TrimSpace(d), directive) {
					return nil
				}
			}
		}
		return onEveryRoute("has no Cache-Control: "+directive,
			"want Cache-Control: %s, got %q", directive, r.header.Values("Cache-Control"))
	}
}

func noHeader(name string) assertion {
	return func(r *response) error {
		if v := r.header.Values(name); len(v) > 0 {
			return onEveryRoute("has the header "+name, "want no %s, got %q", name, v)
		}
		return nil
	}
}

// jsonField requires the body to be a JSON object with a field that matches.
func jsonField(name string, m matcher) assertion {
	return func(r *response) error {
		o, err := r.object()
		if err != nil {
			return err
		}
		err = matchField(o, name, m)
		if f, ok := errors.AsType[failure](err); ok && r.status >= 400 && !f.cause.Wide {
			f.error, f.cause.Wide = err, true // all errors of a daemon have the same shape
			f.cause.What += " in an error"
			return f
		}
		return err
	}
}

// ofObject judges the body, which must be a JSON object.
func ofObject(judge func(object) error) assertion {
	return func(r *response) error {
		o, err := r.object()
		if err != nil {
			return err
		}
		return judge(o)
	}
}

// noField requires the body to be a JSON object without a field. null counts as missing.
func noField(name string) assertion {
	return ofObject(func(o object) error {
		if o[name] != nil {
			return because(fmt.Sprintf("has the field %q", name), "want no field %q, got %s", name, excerpt(encode(o[name])))
		}
		return nil
	})
}

func bodyInSnakeCase(r *response) error {
	o, err := r.object()
	if err != nil {
		return unjudgedError{ReasonObserve, err} // it has no keys
	}
	return snakeCase(o)
}

// isProblem requires a Problem body (spec 2 and 7.1): an object with at least one of the fields,
// each of the right type.
func isProblem(r *response) error {
	if err := isProblemBody(r); err != nil {
		return onEveryRoute(noProblem, "%w", err)
	}
	return nil
}

func isProblemBody(r *response) error {
	o, err := r.object()
	if err != nil {
		return fmt.Errorf("want a Problem body: %w", err)
	}
	known := false
	fields := map[string]matcher{"status": isNumber, "title": isString, "detail": isString, "code": isString}
	for name, m := range fields {
		if got, ok := o[name]; ok {
			known = true
			if err := m(got); err != nil {
				return fmt.Errorf("want a Problem body: %s: %w", name, err)
			}
		}
	}
	if !known {
		return errors.New("want a Problem body with status, title, detail or code, got " + excerpt(r.body))
	}
	return nil
}

// hasEnvelope requires the unmodified response to have a shape.
func hasEnvelope(s shape) assertion {
	return func(r *response) error {
		if e, ok := envelopeOf(s, r.body); ok {
			return envelopeError(s, e.String())
		}
		o, err := r.object()
		if err != nil {
			return err
		}
		if _, ok := o[wanted[s].key]; !ok {
			return envelopeError(s, excerpt(r.body))
		}
		return nil
	}
}
