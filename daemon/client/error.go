package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/internal/retry"
)

// Error is a request that the daemon refused, or that was not sent because the
// daemon would have to refuse it (spec 7.1, 8).
type Error struct {
	// Status is the HTTP status, outside 2xx.
	Status int
	// Problem is the daemon's explanation, as it came. Its fields may be empty.
	Problem protocol.Problem
	// Method and Path are those of the request, without its query.
	Method, Path string
	// RetryAfter is how long the daemon asks to wait, at most a year; 0 when it
	// does not.
	RetryAfter time.Duration
	// NotSent tells that the request stayed here, because it is above a limit.
	NotSent bool
}

// Error gives texts such as "GET /v1/brains/x/documents/read: 404 Not Found:
// read a.md: not found", with what came from the daemon on one line.
func (e *Error) Error() string {
	outcome := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.NotSent {
		outcome = "not sent"
	}
	text := e.Method + " " + e.Path + ": " + outcome
	if why := oneLine(cmp.Or(e.Problem.Detail, e.Problem.Title, e.Problem.Code)); why != "" {
		text += ": " + why
	}
	return text
}

// Code is the problem's code, or the one that belongs to the status when the
// daemon gave none. It is "" when err is no *Error.
func Code(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	return cmp.Or(e.Problem.Code, codes[e.Status], protocol.CodeInternal)
}

// IsNotFound reports whether the daemon says that a document, brain or
// endpoint does not exist.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// codes by status (spec 7.1).
var codes = map[int]string{
	http.StatusBadRequest:            protocol.CodeValidation,
	http.StatusUnauthorized:          protocol.CodeUnauthorized,
	http.StatusForbidden:             protocol.CodeForbidden,
	http.StatusNotFound:              protocol.CodeNotFound,
	http.StatusMethodNotAllowed:      protocol.CodeMethodNotAllowed,
	http.StatusConflict:              protocol.CodeConflict,
	http.StatusRequestEntityTooLarge: protocol.CodePayloadTooLarge,
	http.StatusUnsupportedMediaType:  protocol.CodeUnsupportedMediaType,
	http.StatusPreconditionRequired:  protocol.CodeConfirmationRequired,
	http.StatusTooManyRequests:       protocol.CodeRateLimited,
	http.StatusBadGateway:            protocol.CodeBadGateway,
	http.StatusGatewayTimeout:        protocol.CodeTimeout,
}

// maxProblem bounds how much of an error body is read.
const maxProblem = 64 << 10

// statusError reads the problem of an answer. Bodies of other forms, such as
// a proxy's, become the detail.
func (c *Client) statusError(r request, res *http.Response) error {
	e := &Error{Status: res.StatusCode, Method: r.method, Path: r.path}
	e.RetryAfter, _ = retry.After(res.Header.Get("Retry-After"), time.Now())
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem)) // what arrived is shown
	if c.token != "" {
		// A daemon may repeat what it was sent.
		body = []byte(strings.ReplaceAll(string(body), c.token, "[token]"))
	}
	if json.Unmarshal(body, &e.Problem) != nil || e.Problem == (protocol.Problem{}) {
		e.Problem = protocol.Problem{Detail: string(body)}
	}
	return e
}

// oneLine makes foreign text fit an error: short, and without anything that a
// terminal could act on.
func oneLine(s string) string {
	const most = 500 // characters
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// refusal says why a request may not be sent; its zero value says nothing.
type refusal struct {
	status int
	why    string
}

// check gives the first refusal as an *Error.
func (r request) check(refusals ...refusal) error {
	for _, no := range refusals {
		if no.why != "" {
			return &Error{
				Status: no.status, Method: r.method, Path: r.path, NotSent: true,
				Problem: protocol.Problem{Status: no.status, Code: codes[no.status], Detail: no.why},
			}
		}
	}
	return nil
}

// atMost limits a text, in characters. Text that is not UTF-8 would arrive
// changed.
func atMost(name, text string, most int) refusal {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return refusal{http.StatusBadRequest, name + " is not valid UTF-8"}
	case n > most:
		return refusal{http.StatusBadRequest, fmt.Sprintf("%s has %d characters, the limit is %d", name, n, most)}
	}
	return refusal{}
}

// within limits a number; 0 leaves the choice to the daemon.
func within(name string, n, most int) refusal {
	if n < 0 || n > most {
		return refusal{http.StatusBadRequest, fmt.Sprintf("%s is %d, it must be 1 to %d", name, n, most)}
	}
	return refusal{}
}

// sized limits a payload, in bytes.
func sized(what string, n, most int) refusal {
	if n > most {
		return refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%s has %d bytes, the limit is %d", what, n, most)}
	}
	return refusal{}
}
