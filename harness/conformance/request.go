package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/internal/redact"
)

// maxBody bounds what is read of an answer.
const maxBody = 64 << 20

// target is the daemon under test. It is safe for concurrent use.
type target struct {
	base                         string
	token, readOnly, otherTenant string
	hidden                       *redact.Redactor // of what is shown: verdicts look at what came
	agent                        string
	http                         *http.Client
}

func newTarget(o Options) (*target, error) {
	u, err := url.Parse(strings.TrimRight(o.Endpoint, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("endpoint %q must be a URL such as http://127.0.0.1:8080", o.Endpoint)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("endpoint %s must have no user, ? or #", u.Redacted())
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.Proxy = nil // some checks speak to the socket itself; all must meet the same server
	tr.DisableCompression = true
	tr.MaxIdleConnsPerHost = 2 * o.Parallel
	return &target{
		base: u.String(), agent: o.Agent,
		token: o.Token, readOnly: o.ReadOnlyToken, otherTenant: o.OtherTenantToken,
		hidden: redact.New(beginnings(o.Token, o.ReadOnlyToken, o.OtherTenantToken)...),
		http:   &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// beginnings gives tokens, and what is left of them where a text was cut: a
// shorter beginning tells nobody anything.
func beginnings(tokens ...string) []string {
	const shortest = 8
	var all []string
	for _, token := range tokens {
		for n := len(token); n > 0 && n >= min(shortest, len(token)); n-- {
			all = append(all, token[:n])
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) }) // the longest counts
	return all
}

// request is sent as it stands, with the run's token unless it names another
// one. Its methods return changed copies.
type request struct {
	method string
	path   string // below the brain, or below the daemon's root
	atRoot bool
	query  string
	header [][2]string
	body   *string
	chunks bool // leaves the body's length out
	bearer func(*target) string
	last   bool // of its connection
	// endless marks an answer that, if it is 200, has no end to wait for.
	endless bool
}

// at addresses something in the check's brain. query is name, value pairs.
func at(method, path string, query ...string) request {
	var q []string
	for i := 0; i < len(query); i += 2 {
		q = append(q, url.QueryEscape(query[i])+"="+strings.ReplaceAll(url.QueryEscape(query[i+1]), "+", "%20"))
	}
	return request{method: method, path: path, query: strings.Join(q, "&")}
}

// root addresses something outside the check's brain.
func root(method, path string) request { return request{method: method, path: path, atRoot: true} }

// with adds a header.
func (r request) with(name, value string) request {
	r.header = append(r.header[:len(r.header):len(r.header)], [2]string{name, value})
	return r
}

// bytes adds a body.
func (r request) bytes(body string) request { return r.typed(protocol.TypeBytes, body) }

func (r request) json(v any) request { return r.typed(protocol.TypeJSON, string(encode(v))) }

func (r request) typed(contentType, body string) request {
	r.body = &body
	return r.with("Content-Type", contentType)
}

// as sends the credentials that which picks; empty ones send none.
func (r request) as(which func(*target) string) request {
	r.bearer = which
	return r
}

func anonymous(*target) string       { return "" }
func readOnlyToken(d *target) string { return d.readOnly }
func otherTenant(d *target) string   { return d.otherTenant }

// The requests of spec 4.2.
func readOf(path string) request      { return at("GET", "/documents/read", "path", path) }
func statOf(path string) request      { return at("GET", "/documents/stat", "path", path) }
func headOf(path string) request      { return at("HEAD", "/documents", "path", path) }
func deleteOf(path string) request    { return at("DELETE", "/documents", "path", path) }
func listOf(query ...string) request  { return at("GET", "/documents", query...) }
func putOf(path, text string) request { return at("PUT", "/documents", "path", path).bytes(text) }
func appendOf(path, text string) request {
	return at("POST", "/documents/append", "path", path).bytes(text)
}
func renameOf(from, to string) request {
	return at("POST", "/documents/rename").json(object{"from": from, "to": to})
}
func batchOf(ops ...object) request {
	return at("POST", "/documents/batch-ops").json(object{"reason": "conformance", "ops": ops})
}

// The ops of a batch.
func writeOp(path, text string) object  { return contentOp("write", path, text) }
func appendOp(path, text string) object { return contentOp("append", path, text) }
func deleteOp(path string) object       { return object{"type": "delete", "path": path} }
func renameOp(from, to string) object   { return object{"type": "rename", "path": from, "to": to} }
func contentOp(kind, path, text string) object {
	return object{"type": kind, "path": path, "content_base64": base64.StdEncoding.EncodeToString([]byte(text))}
}

// response is an answer whose body was read. line names the request.
type response struct {
	line   string
	status int
	header http.Header
	body   []byte
}

// String is the answer in short, for a check's detail.
func (r *response) String() string {
	return fmt.Sprintf("%s answered %d %s", r.line, r.status, clip(r.body))
}

func clip(body []byte) string {
	const most = 200
	if len(body) > most {
		return fmt.Sprintf("%q… (%d bytes)", body[:most], len(body))
	}
	return fmt.Sprintf("%q", body)
}

// open sends a request and leaves the body to be read.
func (d *target) open(ctx context.Context, r request, brain string) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = strings.NewReader(*r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, d.base+d.pathOf(r, brain), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.method, err)
	}
	if r.chunks {
		req.ContentLength = -1
	}
	req.Header.Set("User-Agent", d.agent)
	req.Header.Set("Accept", "*/*")
	for _, h := range r.header {
		req.Header.Set(h[0], h[1])
	}
	req.Close = r.last
	if token := d.bearerOf(r); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.lineOf(r, brain), blame(ctx, err))
	}
	return res, nil
}

// send sends a request and reads the answer.
func (d *target) send(ctx context.Context, r request, brain string) (*response, error) {
	res, err := d.open(ctx, r, brain)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if r.endless && res.StatusCode == http.StatusOK {
		return &response{d.lineOf(r, brain), res.StatusCode, res.Header, nil}, nil
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(io.LimitReader(res.Body, maxBody)); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", d.lineOf(r, brain), blame(ctx, err))
	}
	return &response{d.lineOf(r, brain), res.StatusCode, res.Header, body.Bytes()}, nil
}

// do sends a request and reads the answer.
func (t *trial) do(ctx context.Context, r request) (*response, error) {
	t.remember(t.target.lineOf(r, t.brain))
	res, err := t.target.send(ctx, r, t.brain)
	if err != nil {
		return nil, err
	}
	t.remember(fmt.Sprintf("%s → %d", res.line, res.status))
	if res.status == http.StatusTooManyRequests {
		return nil, notJudged{"the daemon's rate limit was reached: run fewer checks at once"}
	}
	return res, nil
}

func (d *target) pathOf(r request, brain string) string {
	p := r.path
	if !r.atRoot {
		p = "/v1/brains/" + url.PathEscape(brain) + p
	}
	if r.query != "" {
		p += "?" + r.query
	}
	return p
}

// lineOf names a request in reports. Long paths are cut.
func (d *target) lineOf(r request, brain string) string {
	p := d.pathOf(r, brain)
	if len(p) > 160 {
		p = p[:160] + "…"
	}
	return r.method + " " + p
}

func (d *target) bearerOf(r request) string {
	if r.bearer != nil {
		return r.bearer(d)
	}
	return d.token
}

// blame gives the reason for which ctx ended, if that is why err happened.
func blame(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err // without the URL, which the caller has named
	}
	return err
}
