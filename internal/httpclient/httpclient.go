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

	"evalctl/internal/intake"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
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

// Segment escapes an id for the path of a URL.
func Segment(id string) string {
	// PathEscape does not escape dots, and a segment of dots would name another resource.
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
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

// ErrTooLarge is returned for a body that exceeds the limit of ReadBody or the memory for all
// replies together.
var ErrTooLarge = errors.New("the response is too large")

// ReadBody reads a body of at most limit bytes, or of any length if limit is 0. It does not close
// the body. The bytes count as intake.Hold of the request's context, if it has one, until that
// ends. Errors are ErrTooLarge, intake.ErrWaited, and errors of the body.
func ReadBody(res *http.Response, limit int64) ([]byte, error) {
	if limit == 0 {
		limit = intake.Largest
	}
	body := intake.NewReader(contextOf(res), io.NopCloser(res.Body), limit)
	defer body.Close()
	data := make([]byte, 0, bytes.MinRead)
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return data, nil
		case errors.Is(err, intake.ErrLimit):
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
		case errors.Is(err, intake.ErrTooLarge), errors.Is(err, ErrRatio):
			return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
		case err != nil:
			return nil, err
		}
		if len(data) == cap(data) {
			data = grown(data, res.ContentLength)
		}
	}
}

// grown returns data with room for more: twice as much, or as announced if that is less, so that an
// announcement alone takes no memory.
func grown(data []byte, announced int64) []byte {
	size := 2 * int64(cap(data))
	if left := announced + bytes.MinRead; left > int64(len(data)) {
		size = min(size, left)
	}
	return append(make([]byte, 0, size), data...)
}

// ReadJSON is ReadBody for a JSON text. The memory of the decoded text counts too, and is at most
// jsonobj.MaxDecoded: more is ErrTooLarge.
func ReadJSON(res *http.Response, limit int64) ([]byte, error) {
	data, err := ReadBody(res, limit)
	if err != nil {
		return nil, err
	}
	return data, Decodable(contextOf(res), data)
}

// Decodable draws the memory that a JSON text takes once it is decoded. The error is ErrTooLarge or
// intake.ErrWaited.
func Decodable[T ~string | ~[]byte](ctx context.Context, data T) error {
	cost, err := jsonobj.Bound(data, jsonobj.MaxDecoded)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	hold := intake.Of(ctx)
	defer hold.End()
	if err := hold.Draw(ctx, cost); errors.Is(err, intake.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	} else if err != nil {
		return err
	}
	return nil
}

func contextOf(res *http.Response) context.Context {
	if res.Request == nil {
		return context.Background()
	}
	return res.Request.Context()
}

// Cause returns why a request failed: the cause of the context's end if that is over, or else err
// without the method and URL that http.Client adds, because queries contain users' memories.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, intake.ErrWaited) {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Redirect says where a response redirects to, without the secrets of that URL. ok is false for
// another response.
func Redirect(res *http.Response) (text string, ok bool) {
	to, err := res.Location()
	if err != nil || res.StatusCode/100 != 3 {
		return "", false
	}
	shown := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path, RawPath: to.RawPath}
	return "it leads to " + printable.Line(shown.String(), 300) + ": redirects are not followed; give the final URL", true
}

// Advice returns what a user can do about a daemon's status, in parentheses after a space, or
// "".
func Advice(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return " (give the daemon's token with --token or SVC_TOKEN)"
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return " (redirects are not followed; give the final URL)"
	}
	return ""
}
