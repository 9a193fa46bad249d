package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
	"evalctl/internal/redact"
	"evalctl/internal/retry"
)

// maxBody limits the size of a JSON answer.
const maxBody = 64 << 20

// maxHealth limits how much of a health answer is read.
const maxHealth = 64 << 10

// maxErrorBody limits how much of an error body is read.
const maxErrorBody = 2 << 10

// MinConns is the minimum number of connections that an Endpoint keeps open.
const MinConns = 8

// CallTimeout limits a request that belongs to no question (spec 8).
const CallTimeout = 30 * time.Second

// ErrNoAnswer means that a request exceeded its TimeLimit.
var ErrNoAnswer = errors.New("no answer")

// TimeLimit returns a context that ends after the given time, with ErrNoAnswer as its cause.
func TimeLimit(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, within, fmt.Errorf("%w within %v", ErrNoAnswer, within))
}

// Endpoint is a daemon's HTTP API. It is safe for concurrent use. If the daemon sends back the
// token or another secret, for example in an error, it is replaced by its name, such as [token].
type Endpoint struct {
	base     string
	token    string
	redactor *redact.Redactor
	agent    string
	http     *http.Client
	// changes, unless nil, sends the requests that are not repeated: they fail on a connection
	// that the daemon is closing. drops is set once the daemon has answered one without content.
	// Some daemons close the connection then, so no other request may use it.
	changes *http.Client
	drops   atomic.Bool
	spelled atomic.Uint32 // the spellings that replies had
	names   sync.Map      // for which the daemon returned the ids of brains, or removed
}

// idleChanges is how long a connection for changes may be unused. It is shorter than the time
// after which common servers close one, such as 5 s in uvicorn.
const idleChanges = 2 * time.Second

// NewEndpoint returns the API at baseURL, which must be http or https, without credentials, query
// and fragment. token may be empty. conns is the expected number of concurrent requests. secrets
// are redacted like the token.
func NewEndpoint(baseURL, token, userAgent string, conns int, secrets ...redact.Secret) (*Endpoint, error) {
	base, err := httpclient.ParseBaseURL(baseURL)
	if err != nil {
		return nil, fmt.Errorf("endpoint %w", err)
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 0, max(conns, MinConns)
	tr.DisableCompression = true
	e := (&Endpoint{base: base, token: token, redactor: NewRedactor(secrets, token), agent: userAgent}).Through(tr)
	brief := tr.Clone()
	brief.IdleConnTimeout = idleChanges
	e.changes = e.through(brief)
	return e, nil
}

// Through returns a copy of e that sends its requests through another transport, which must not
// decompress replies. Closing it closes only this transport's idle connections.
func (e *Endpoint) Through(t http.RoundTripper) *Endpoint {
	return &Endpoint{base: e.base, token: e.token, redactor: e.redactor, agent: e.agent, http: e.through(t)}
}

func (e *Endpoint) through(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: e.redactor.Transport(httpclient.Decompressing(t, false)), CheckRedirect: httpclient.NoRedirect}
}

// URL returns the base URL without a trailing slash.
func (e *Endpoint) URL() string { return e.base }

// Close closes the idle connections.
func (e *Endpoint) Close() {
	e.http.CloseIdleConnections()
	if e.changes != nil {
		e.changes.CloseIdleConnections()
	}
}

// BrainPath returns the path of a brain's API.
func BrainPath(id string) string { return "/v1/brains/" + httpclient.Segment(id) }

// Request is a request to a daemon. The token and the user agent are added.
type Request struct {
	Method      string
	Path        string // appended to the endpoint's URL, with the query if there is one
	ContentType string
	Accept      string
	Header      map[string]string // further fields
	Body        []byte

	change bool // it is not repeated
}

// Do sends a request. The caller must close the response body. A status outside 2xx or a transport
// error is returned as a *Failure; if ctx has ended, the error is its cause.
func (e *Endpoint) Do(ctx context.Context, r Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, e.base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	httpclient.Identify(req, e.agent, e.token)
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	for key, value := range r.Header {
		req.Header.Set(key, value)
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	res, err := e.send(req, r.change)
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, statusFailure(r, res)
	}
	return res, nil
}

func (e *Endpoint) send(req *http.Request, change bool) (*http.Response, error) {
	if !change || e.changes == nil {
		return e.http.Do(req)
	}
	req.Close = e.drops.Load()
	res, err := e.changes.Do(req)
	if err == nil && res.StatusCode == http.StatusNoContent && !e.drops.Swap(true) {
		e.changes.CloseIdleConnections()
	}
	return res, err
}

// Object sends a request and returns the JSON object in the answer, of at most 64 MiB. Errors are
// as from Do, with a *Failure for any other answer.
func (e *Endpoint) Object(ctx context.Context, r Request) (jsonobj.Object, error) {
	r.Accept = protocol.TypeJSON
	data, err := e.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return parse(r, data)
}

// Create is Object for a request that creates something, with two differences. An answer without a
// body is accepted and returned as nil. A failure can be retried only with status 429 or 503,
// because after any other the object may already exist.
func (e *Endpoint) Create(ctx context.Context, r Request) (jsonobj.Object, error) {
	data, err := e.change(ctx, r)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil, err
	}
	return parse(r, data)
}

// Change sends a request that is not safe to repeat, and ignores the body of the answer. Failures
// can be retried as with Create.
func (e *Endpoint) Change(ctx context.Context, r Request) error {
	_, err := e.change(ctx, r)
	return err
}

func (e *Endpoint) change(ctx context.Context, r Request) ([]byte, error) {
	r.Accept, r.change = protocol.TypeJSON, r.Method != http.MethodPut // a PUT may be repeated
	data, err := e.read(ctx, r)
	if f, ok := errors.AsType[*Failure](err); ok {
		f.retry = f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable
	}
	return data, err
}

// read sends a request and returns the body of the answer.
func (e *Endpoint) read(ctx context.Context, r Request) ([]byte, error) {
	res, err := e.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := httpclient.ReadJSON(res, maxBody)
	if errors.Is(err, httpclient.ErrTooLarge) {
		return nil, NewFailure(result.KindProtocol, fmt.Sprintf("%s %s: %v", r.Method, r.Path, err))
	}
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	return data, nil
}

func parse(r Request, data []byte) (jsonobj.Object, error) {
	o, err := jsonobj.Parse(data)
	switch {
	case err != nil:
		return nil, notObject(r, data, err)
	case !utf8.Valid(data): // decoding would replace characters, and count what was found as missed
		path, _, _ := strings.Cut(r.Path, "?")
		return nil, NewFailure(result.KindProtocol, fmt.Sprintf("%s %s did not answer in UTF-8: %s", r.Method, path, clip(data)))
	}
	return o, nil
}

// Health returns an error unless the daemon is healthy, by the same rule as launch.Start: status
// 200 and a body, in any format, without "ok": false. It returns the reported version, which may be
// empty.
func (e *Endpoint) Health(ctx context.Context) (version string, err error) {
	ctx, cancel := TimeLimit(ctx, CallTimeout)
	defer cancel()
	version, err = e.health(ctx)
	if err != nil {
		return "", fmt.Errorf("daemon at %s: %w", e.base, err)
	}
	return version, nil
}

func (e *Endpoint) health(ctx context.Context) (version string, err error) {
	r := Request{Method: http.MethodGet, Path: "/healthz", Accept: protocol.TypeJSON}
	res, err := e.Do(ctx, r)
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
	o, _ := jsonobj.Parse(data) // a body in another format means that the daemon is healthy
	if string(o.Get("ok")) == "false" {
		return "", NewFailure(result.KindDaemon, "it reports that it is not healthy: "+clip(data))
	}
	return o.Text("version"), nil
}

func transportFailure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, intake.ErrWaited):
		return err // of the cause of ctx
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return TransientFailure(result.KindTransport, err.Error(), 0)
}

func statusFailure(r Request, res *http.Response) *Failure {
	data, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // show whatever has arrived
	f := &Failure{Failure: result.Failure{Kind: result.KindStatus, Status: res.StatusCode}}
	path, _, _ := strings.Cut(r.Path, "?")
	f.Message = fmt.Sprintf("%s %s: %s", r.Method, path, res.Status)
	var p protocol.Problem
	if json.Unmarshal(data, &p) == nil && (p.Detail != "" || p.Title != "" || p.Code != "") {
		f.Message += ": " + clip([]byte(strings.Join(nonEmpty(p.Code, p.Title, p.Detail), ": ")))
		f.pending = p.Pending
	} else if text := clip(data); text != "" {
		f.Message += ": " + text
	}
	if f.retry = retry.Status(res.StatusCode); f.retry {
		f.retryAfter, _ = retry.After(res.Header.Get("Retry-After"), time.Now())
	}
	f.Message += httpclient.Advice(res.StatusCode)
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

// clip quotes a daemon's output for an error.
func clip(b []byte) string { return printable.Line(string(b), 300) }
