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
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/internal/printable"
	"evalctl/internal/retry"
)

// Error is a request that the daemon rejected, or that was not sent because the daemon would have
// to reject it (spec 7.1, 8).
type Error struct {
	// Status is the HTTP status. It is outside 2xx.
	Status int
	// Problem is the daemon's explanation, unchanged. Its fields may be empty.
	Problem protocol.Problem
	// Method and Path are the request's, without its query.
	Method, Path string
	// RetryAfter is how long the daemon asks to wait, at most a year. It is 0 if the daemon does
	// not ask to wait.
	RetryAfter time.Duration
	// NotSent reports that the request exceeds a limit and was not sent.
	NotSent bool
}

// Error returns texts such as "GET /v1/brains/x/documents/read: 404 Not Found: read a.md: not
// found", with the daemon's explanation on one line.
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

// Code returns the code of the Problem, or a code for the status if the daemon sent none. It
// returns "" if err is not an *Error.
func Code(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	return cmp.Or(e.Problem.Code, codes[e.Status], protocol.CodeInternal)
}

// IsNotFound reports whether err is the daemon's response that a document, brain or endpoint does
// not exist.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// codes of the statuses (spec 7.1).
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

// maxProblem is how many bytes of an error body are read.
const maxProblem = 64 << 10

// statusError returns the error of a response outside 2xx. A body that is not a Problem, such as a
// proxy's, becomes the detail.
func (c *Client) statusError(r request, res *http.Response) error {
	e := &Error{Status: res.StatusCode, Method: r.method, Path: r.path}
	e.RetryAfter, _ = retry.After(res.Header.Get("Retry-After"), time.Now())
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxProblem)) // possibly incomplete
	if c.token != "" {
		// A daemon may repeat the request.
		body = []byte(strings.ReplaceAll(string(body), c.token, "[token]"))
	}
	if json.Unmarshal(body, &e.Problem) != nil || e.Problem == (protocol.Problem{}) {
		e.Problem = protocol.Problem{Detail: string(body)}
	}
	return e
}

// oneLine returns text of a daemon as part of an error.
func oneLine(s string) string { return printable.Line(s, 500) }

// violation is why a request may not be sent. Its zero value is none.
type violation struct {
	status int
	why    string
	code   string // empty: the code for the status
}

func invalid(format string, args ...any) violation {
	return violation{status: http.StatusBadRequest, why: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) violation {
	return violation{status: http.StatusRequestEntityTooLarge, why: fmt.Sprintf(format, args...)}
}

// check prevents sending a request with a violation. The first one is the *Error.
func (r *request) check(violations ...violation) {
	for _, v := range violations {
		if v.why != "" && r.err == nil {
			r.err = &Error{
				Status: v.status, Method: r.method, Path: r.path, NotSent: true,
				Problem: protocol.Problem{
					Status: v.status, Code: cmp.Or(v.code, codes[v.status]), Detail: v.why,
				},
			}
		}
	}
}

// limitChars limits a text, in characters. It rejects text that is not UTF-8, which JSON would
// change.
func limitChars(name, text string, most int) violation {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return invalid("%s is not valid UTF-8", name)
	case n > most:
		return invalid("%s has %d characters, the limit is %d", name, n, most)
	}
	return violation{}
}

// limitNumber limits a number; 0 lets the daemon choose.
func limitNumber(name string, n, most int) violation {
	if n < 0 || n > most {
		return invalid("%s is %d, it must be 1 to %d", name, n, most)
	}
	return violation{}
}

// limitBytes limits a payload, in bytes.
func limitBytes(what string, n, most int) violation {
	if n > most {
		return tooLarge("%s has %d bytes, the limit is %d", what, n, most)
	}
	return violation{}
}
