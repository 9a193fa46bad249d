package requirements

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// response is a response whose body was read. request describes the request.
type response struct {
	request string
	status  int
	header  http.Header
	body    []byte
	seen    *exchange
}

// String describes the response for a check's detail.
func (r *response) String() string {
	return fmt.Sprintf("%s returned %d %s", r.request, r.status, excerpt(r.body))
}

func (r *response) object() (object, error) {
	var o object
	err := json.Unmarshal(r.body, &o)
	switch {
	case err == nil && o != nil:
		return o, nil
	case r.status >= 400:
		return nil, onEveryRoute(noProblem, "want a JSON object, got %s", excerpt(r.body))
	default:
		return nil, because("returned no JSON object", "want a JSON object, got %s", excerpt(r.body))
	}
}

// objects returns the elements of a JSON array, which must all be objects.
func objects(list []any) ([]object, error) {
	all := make([]object, 0, len(list))
	for _, item := range list {
		o, ok := item.(object)
		if !ok {
			return nil, fmt.Errorf("want an array of objects, got the element %s", excerpt(encode(item)))
		}
		all = append(all, o)
	}
	return all, nil
}

// shownHeaders are the response headers that checks judge.
var shownHeaders = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "ETag", "Allow", "Location", "Retry-After", "Www-Authenticate",
}

// answered returns the exchange with its response.
func (x *exchange) answered(res *response) *exchange {
	done := *x
	done.answer = &answer{status: res.status, line: strings.TrimSpace(fmt.Sprintf("HTTP %d %s", res.status, http.StatusText(res.status))),
		body: res.body}
	for _, name := range shownHeaders {
		for _, value := range res.header.Values(name) {
			done.answer.header = append(done.answer.header, [2]string{name, value})
		}
	}
	return &done
}

// wantStatus returns the error for a status other than the expected one, described by want.
func (r *response) wantStatus(want string, err error) error {
	// A daemon's error statuses and authentication are the same on all routes.
	wide := r.status >= 400 && r.status < 500 && !strings.HasPrefix(want, "2") || r.status == 401 || r.status == 403
	return failure{error: err, cause: Cause{Route: r.route(), What: r.returned(want), Wide: wide, Status: r.status}, seen: r.seen}
}

// returned describes an unexpected status. The expected one is included only if the daemon did
// something it should not have done: a failure is a failure, whatever it prevents.
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

func (r *response) route() string {
	if r.seen == nil {
		return r.request
	}
	return r.seen.route
}

// withinRate returns an error if the daemon's rate limit was reached.
func (r *response) withinRate() error {
	if r.status != http.StatusTooManyRequests {
		return nil
	}
	return unjudgedError{ReasonRateLimit, r.wantStatus("2xx",
		errors.New("the daemon's rate limit was reached: run fewer checks in parallel"))}
}

// unobservable returns an error if a response does not show the effect under test, because the
// request failed for an unrelated reason.
func unobservable(r *response) error {
	if r.status >= 500 || slices.Contains([]int{401, 403, 405}, r.status) {
		return unjudgedError{ReasonObserve, r.wantStatus("2xx", fmt.Errorf("the effect cannot be observed: %s", r))}
	}
	return nil
}

// mayPass reports whether the same request may succeed when it is sent again.
func mayPass(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// noProblem is the cause of every error without a Problem in its body.
const noProblem = "has no Problem as the body of an error"
