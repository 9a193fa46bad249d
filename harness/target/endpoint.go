package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/jsonobj"
	"evalctl/internal/redact"
	"evalctl/internal/retry"
)

// maxBody is the largest JSON answer of a daemon that is read.
const maxBody = 64 << 20

// maxHealth is how much of a health answer is read.
const maxHealth = 64 << 10

// maxErrorBody is how much of an error body is read.
const maxErrorBody = 2 << 10

// callTimeout is a client's default time limit (spec 8).
const callTimeout = 30 * time.Second

var errNoAnswer = errors.New("no answer")

// timeLimit returns a context that ends with an error that names the limit.
func timeLimit(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, within, fmt.Errorf("%w within %v", errNoAnswer, within))
}

// Endpoint is a daemon's HTTP API. It is safe for concurrent use. If a daemon sends the token back,
// for example in an error, it is read as [token].
type Endpoint struct {
	base     string
	token    string
	redactor *redact.Redactor
	agent    string
	http     *http.Client
}

// NewEndpoint returns the API at baseURL, which must be http or https, without credentials, query
// and fragment. token may be empty. conns is the number of concurrent requests to expect.
func NewEndpoint(baseURL, token, userAgent string, conns int) (*Endpoint, error) {
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fmt.Errorf("endpoint %q must be a URL such as http://127.0.0.1:8080", baseURL)
	case u.User != nil: // it would be visible in errors and results
		return nil, fmt.Errorf("endpoint %s must not contain a user or password; give the daemon's token instead", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("endpoint %s must end with its path, without ? or #", u)
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 0, max(conns, seedWriters)
	tr.DisableCompression = true
	hidden := NewRedactor(token)
	return &Endpoint{base: u.String(), token: token, redactor: hidden, agent: userAgent, http: &http.Client{
		Transport: &redactingTransport{tr, hidden},
		// A daemon must not be able to send the token, or this process, somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL returns the base URL without a trailing slash.
func (e *Endpoint) URL() string { return e.base }

// Close closes the idle connections.
func (e *Endpoint) Close() { e.http.CloseIdleConnections() }

type request struct {
	method, path string
	contentType  string
	accept       string
	header       map[string]string // further fields
	body         []byte
}

// do sends one request. A status outside 2xx is returned as a *Failure, and the body is closed.
func (e *Endpoint) do(ctx context.Context, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, e.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	req.Header.Set("User-Agent", e.agent)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	for key, value := range r.header {
		req.Header.Set(key, value)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if e.token != "" {
		req.Header.Set("Authorization", "Bearer "+e.token)
	}
	res, err := e.http.Do(req)
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, statusFailure(r, res)
	}
	return res, nil
}

// json sends a request and parses the object that the daemon answers with.
func (e *Endpoint) json(ctx context.Context, r request) (jsonobj.Object, error) {
	r.accept = protocol.TypeJSON
	data, err := e.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return decoded(r, data)
}

// created sends a request that creates something and parses the object that describes it. A daemon
// may answer without a body: the object is then nil.
func (e *Endpoint) created(ctx context.Context, r request) (jsonobj.Object, error) {
	data, err := e.read(ctx, r)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, err
	}
	return decoded(r, data)
}

// read sends a request and returns the body of the answer.
func (e *Endpoint) read(ctx context.Context, r request) ([]byte, error) {
	res, err := e.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	if len(data) > maxBody {
		return nil, newFailure(result.KindProtocol, fmt.Sprintf("%s %s answered with more than %d MiB", r.method, r.path, maxBody>>20))
	}
	return data, nil
}

func decoded(r request, data []byte) (jsonobj.Object, error) {
	o, err := jsonobj.Parse(data)
	if err != nil {
		return nil, newFailure(result.KindProtocol, fmt.Sprintf("%s %s did not answer with a JSON object: %v: %s", r.method, r.path, err, Clip(data)))
	}
	return o, nil
}

// call is json for a request that belongs to no question, with a time limit of its own.
func (e *Endpoint) call(ctx context.Context, r request) (jsonobj.Object, error) {
	ctx, cancel := timeLimit(ctx, callTimeout)
	defer cancel()
	return e.json(ctx, r)
}

// get is call for an object that is only read, repeated as retryFor does.
func (e *Endpoint) get(ctx context.Context, path string) (o jsonobj.Object, err error) {
	err = retryFor(ctx, callTimeout, func(ctx context.Context) (err error) {
		o, err = e.call(ctx, request{method: http.MethodGet, path: path})
		return err
	})
	return o, err
}

// Health returns an error unless the daemon is healthy, by the rule that launch.Start has too:
// status 200 and a body, of whatever form, that does not say "ok": false. It returns the version
// that the daemon reports, which may be empty.
func (e *Endpoint) Health(ctx context.Context) (version string, err error) {
	ctx, cancel := timeLimit(ctx, callTimeout)
	defer cancel()
	version, err = e.health(ctx)
	if err != nil {
		return "", fmt.Errorf("daemon at %s: %w", e.base, err)
	}
	return version, nil
}

func (e *Endpoint) health(ctx context.Context) (version string, err error) {
	r := request{method: http.MethodGet, path: "/healthz", accept: protocol.TypeJSON}
	res, err := e.do(ctx, r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", statusFailure(r, res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxHealth))
	if err != nil {
		return "", transportFailure(ctx, err)
	}
	o, _ := jsonobj.Parse(data) // a body of another form is another daemon's way to say yes
	if string(o.Get("ok")) == "false" {
		return "", newFailure(result.KindDaemon, "it says that it is not healthy: "+Clip(data))
	}
	return o.Text("version"), nil
}

func transportFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Failure{Failure: result.Failure{Kind: result.KindTransport, Message: err.Error()}, retry: true}
}

func statusFailure(r request, res *http.Response) *Failure {
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // the error shows what has arrived
	f := &Failure{Failure: result.Failure{Kind: result.KindStatus, Status: res.StatusCode}}
	path, _, _ := strings.Cut(r.path, "?")
	f.Message = fmt.Sprintf("%s %s: %s", r.method, path, res.Status)
	var p protocol.Problem
	if json.Unmarshal(data, &p) == nil && (p.Detail != "" || p.Title != "" || p.Code != "") {
		f.Message += ": " + Clip([]byte(strings.Join(nonEmpty(p.Code, p.Title, p.Detail), ": ")))
	} else if text := Clip(data); text != "" {
		f.Message += ": " + text
	}
	if f.retry = retry.Status(res.StatusCode); f.retry {
		f.retryAfter, _ = retry.After(res.Header.Get("Retry-After"), time.Now())
	}
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Message += " (give the daemon's token with --token or SVC_TOKEN)"
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		f.Message += " (redirects are not followed; give the final URL)"
	}
	return f
}

func nonEmpty(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// Clip shortens foreign text to fit one line of an error: at most 300 characters, without line
// breaks.
func Clip(b []byte) string {
	const most = 300
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "\ufffd")), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " …"
	}
	return s
}
