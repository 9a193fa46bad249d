package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/printable"
	"evalctl/internal/retry"
)

// maxBody limits the size of a response.
const maxBody = 64 << 20

// web makes calls over HTTP.
type web struct {
	base, agent string
	client      *http.Client
	questions   *http.Client // for calls that answer questions, nil for client
	health      *operation
	headers     Headers // of all requests
	env         func(string) string
	seen        *sightings
}

// idleConnTimeout is shorter than in common servers (5 s in uvicorn), because a request that must
// not be repeated fails on a connection that the server is closing.
const idleConnTimeout = 2 * time.Second

// newTransport returns a transport for requests that must not be repeated.
func newTransport() *http.Transport {
	t := newLastingTransport()
	t.IdleConnTimeout = idleConnTimeout
	return t
}

// newLastingTransport returns a transport that keeps connections as long as target.Endpoint.
// With a shorter time, each search would open a connection if the reader takes longer than that,
// and its latency could not be compared with that of a daemon.
func newLastingTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // Decompressing reads them, within its bounds
	return t
}

// openHTTP checks the URL and the secrets of the mapping.
func (s *Service) openHTTP() error {
	base, err := httpclient.ParseBaseURL(s.cfg.URL)
	if err != nil {
		return fmt.Errorf("endpoint %w", err)
	}
	if err := s.checkHeaders(); err != nil {
		return err
	}
	client := func(t *http.Transport) *http.Client {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, max(s.cfg.Concurrency, target.MinConns)
		return &http.Client{Transport: s.secrets.Transport(httpclient.Decompressing(t, true)), CheckRedirect: httpclient.NoRedirect}
	}
	s.main = &web{
		base: base, agent: s.cfg.UserAgent, health: s.mapping.health, headers: s.mapping.headers,
		env: s.variableOrNone, seen: &s.seen,
		client: client(newTransport()), questions: client(newLastingTransport()),
	}
	return nil
}

// checkHeaders returns an error if a variable named in the mapping's headers is not set.
func (s *Service) checkHeaders() error { return s.mapping.CheckVariables(s.variableOrNone, false) }

func (s *Service) variableOrNone(name string) string {
	value, _ := s.variable(name) // CheckVariables says if there is none
	return value
}

// headers returns the HTTP client for an MCP server, nil if the mapping has no headers.
func (s *Service) headers() (client *http.Client, err error) {
	if s.mapping == nil || len(s.mapping.headers) == 0 {
		return nil, nil
	}
	if err := s.checkHeaders(); err != nil {
		return nil, err
	}
	client, s.transport = s.mapping.headers.client(s.variableOrNone)
	return client, nil
}

// Reach redirects further requests to the URL of a restarted process. No other method may be called
// concurrently.
func (s *Service) Reach(url string) error {
	base, err := httpclient.ParseBaseURL(url)
	if w, ok := s.main.(*web); ok && err == nil {
		s.cfg.URL, w.base = url, base
	}
	return err
}

// call implements caller.
func (w *web) call(ctx context.Context, o *operation, values map[string]any) (callReply, error) {
	w.seen.called(o)
	req, err := w.request(ctx, o, values)
	if err != nil {
		return callReply{}, err
	}
	client := w.client
	if w.questions != nil && o.answersQuestion() {
		client = w.questions
		// Because of this header, the transport repeats the request if the server closes a kept
		// connection before it begins to answer. A header without values is not sent.
		if req.Header.Get("X-Idempotency-Key") == "" {
			req.Header["X-Idempotency-Key"] = []string{}
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return callReply{}, w.transport(ctx, o, err)
	}
	defer res.Body.Close()
	data, err := httpclient.ReadBody(res, maxBody)
	switch {
	case errors.Is(err, httpclient.ErrTooLarge):
		return callReply{}, target.NewFailure(result.KindProtocol, fmt.Sprintf("%s: %v", o.called(), err))
	case err != nil:
		return callReply{}, w.transport(ctx, o, err)
	case res.StatusCode/100 != 2:
		return callReply{}, w.status(o, res, data)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which RFC 8259 allows to ignore
	return callReply{texts: []string{string(data)}, contentType: res.Header.Get("Content-Type")}, nil
}

// request returns the request for a call. A value is one path segment or one query value, whatever
// it contains.
func (w *web) request(ctx context.Context, o *operation, values map[string]any) (*http.Request, error) {
	escaped, texts := map[string]any{}, maps.Clone(values)
	for name, v := range values {
		escaped[name] = httpclient.Segment(textOf(v))
	}
	if c, ok := values["cursor"]; ok { // of any form
		texts["cursor"] = textOf(c)
	}
	to := w.base + o.path.text(escaped)
	if query, ok := o.query.render(texts).(map[string]any); ok && len(query) > 0 {
		q := url.Values{}
		for name, v := range query {
			addQuery(q, name, v)
		}
		to += "?" + q.Encode()
	}
	var body io.Reader
	if v := o.arguments.render(values); o.arguments != nil {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: encode the body: %w", o.called(), err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, o.method, to, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.called(), err)
	}
	httpclient.Identify(req, w.agent, "")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	w.headers.set(req, nil, w.env)
	o.headers.set(req, values, w.env)
	return req, nil
}

// addQuery adds a value to a query. A list repeats its key, and null is left out.
func addQuery(q url.Values, name string, v any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, one := range v {
			addQuery(q, name, one)
		}
	default:
		q.Add(name, textOf(v))
	}
}

func (w *web) transport(ctx context.Context, o *operation, err error) error {
	switch {
	case errors.Is(err, intake.ErrWaited):
		return err // of the cause of ctx
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	message := fmt.Sprintf("%s: %s", o.called(), printable.Line(err.Error(), maxLine))
	return target.TransientFailure(result.KindTransport, message, 0)
}

// status returns the failure for a response outside 2xx.
func (w *web) status(o *operation, res *http.Response, body []byte) error {
	message := fmt.Sprintf("%s: %s: %s", o.called(), res.Status, printable.Line(string(body), maxLine))
	if where, ok := httpclient.Redirect(res); ok {
		message = fmt.Sprintf("%s: %s: %s", o.called(), res.Status, where)
	}
	after, _ := retry.After(res.Header.Get("Retry-After"), time.Now())
	return statusFailure(message, res.StatusCode, after)
}

// statusFailure returns the failure for a response outside 2xx. after is the wait that it asks for.
func statusFailure(message string, code int, after time.Duration) error {
	f := target.NewFailure(result.KindStatus, message)
	if retry.Status(code) {
		f = target.TransientFailure(result.KindStatus, message, after)
	}
	f.Status = code
	return f
}

// alive implements caller. Without a health route, a service is alive if it accepts a connection.
func (w *web) alive(ctx context.Context) error {
	o := w.health
	if o == nil {
		path, _ := compileText("/", nil) // it has no placeholders
		o = &operation{name: "health", method: http.MethodGet, path: path}
	}
	req, err := w.request(ctx, o, nil)
	if err != nil {
		return err
	}
	res, err := w.client.Do(req)
	if err != nil {
		return w.transport(ctx, o, err)
	}
	defer res.Body.Close()
	if w.health != nil && res.StatusCode/100 != 2 {
		return target.NewFailure(result.KindStatus, fmt.Sprintf("%s: %s", o.called(), res.Status))
	}
	return nil
}

// close implements caller.
func (w *web) close() error {
	w.client.CloseIdleConnections()
	if w.questions != nil {
		w.questions.CloseIdleConnections()
	}
	return nil
}
