// Package httpclient is the common ground of this module's HTTP clients of a memory service: the
// check of a base URL, the headers that identify the client, redirects, and the end of a response.
// It sends nothing itself.
package httpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// ParseBaseURL returns a base URL without trailing slashes. It must be http or https with a host.
// It may have a path, but no user information, query or fragment. Errors read well after a word
// such as "endpoint". They contain the URL only if it has no part that could be a secret.
func ParseBaseURL(baseURL string) (string, error) {
	shown := strconv.Quote(baseURL)
	if strings.ContainsAny(baseURL, "@?#%") {
		shown = "(not shown: it may contain credentials)"
	}
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	switch {
	case err != nil: // it repeats the URL
		return "", fmt.Errorf("%s cannot be parsed: give a URL such as http://127.0.0.1:8787", shown)
	case u.User != nil:
		return "", fmt.Errorf("%s must not contain a user or password: "+
			"give the token or key separately", shown)
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%s must be an http or https URL with a host, "+
			"such as http://127.0.0.1:8787", shown)
	case strings.ContainsAny(baseURL, "?#"):
		return "", fmt.Errorf("%s must end with its path, without ? or #", shown)
	}
	return u.String(), nil
}

// Identify sets the headers User-Agent and, unless token is empty, Authorization.
func Identify(req *http.Request, userAgent, token string) {
	req.Header.Set("User-Agent", userAgent)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
}

// NoRedirect is an http.Client's CheckRedirect: a redirect is the response. Following one would let
// a server send the token, or this process, somewhere else.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ErrTooLarge is returned for a body above the limit of ReadBody.
var ErrTooLarge = errors.New("the response is too large")

// maxHint is the largest Content-Length for which ReadBody allocates before the bytes arrive.
const maxHint = 64 << 20

// ReadBody reads a body of at most limit bytes, or of any length if limit is 0. It does not close
// the body. Errors are ErrTooLarge, and those of the body.
func ReadBody(res *http.Response, limit int64) ([]byte, error) {
	var body io.Reader = res.Body
	if limit > 0 {
		body = io.LimitReader(body, limit+1)
	}
	var data bytes.Buffer
	if n := res.ContentLength; n > 0 && n <= maxHint {
		data.Grow(int(n) + bytes.MinRead)
	}
	n, err := data.ReadFrom(body)
	if err != nil {
		return nil, err
	}
	if limit > 0 && n > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return data.Bytes(), nil
}

// Cause returns why a request failed: the cause of the context's end if that is over, or else err
// without the method and URL that http.Client adds, as queries contain what users remember.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
