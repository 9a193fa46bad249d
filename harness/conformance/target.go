package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/redact"
)

// maxBody is the largest response that is read, in bytes.
const maxBody = 64 << 20

// target is the daemon under test. It is safe for concurrent use.
type target struct {
	base                         string
	token, readOnly, otherTenant string
	redactor                     *redact.Redactor // applied to what is reported, not to what is judged
	agent                        string
	limit                        time.Duration // Options.within
	timeout                      time.Duration // of Options
	http                         *http.Client
	tools                        *tools // nil without an MCP server

	// What the probe found out. Nothing changes after it.
	healthy     bool // GET /healthz returned 2xx
	reached     bool // it returned any response
	creation    creation
	deletes     bool   // brains can be deleted
	undeletable string // why not

	quirks  *quirks
	routes  *routes      // what each route returned
	slowest atomic.Int64 // the longest time until a response began, in nanoseconds

	mu   sync.Mutex
	left []string  // brains that could not be deleted
	lost *exchange // the first request that got no answer
}

func newTarget(o Options) (*target, error) {
	var base string
	if o.Endpoint != "" || o.MCP == "" {
		var err error
		if base, err = httpclient.ParseBaseURL(o.Endpoint); err != nil {
			return nil, fmt.Errorf("endpoint %w", err)
		}
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.Proxy = nil // some checks use the socket directly; all checks must reach the same server
	tr.DisableCompression = true
	tr.MaxIdleConnsPerHost = 2 * o.Parallel
	return &target{
		base: base, agent: o.Agent, limit: o.within, timeout: o.Timeout,
		token: o.Token, readOnly: o.ReadOnlyToken, otherTenant: o.OtherTenantToken,
		redactor: redact.New(tokenPrefixes(o.Token, o.ReadOnlyToken, o.OtherTenantToken)...),
		http:     &http.Client{Transport: tr, CheckRedirect: httpclient.NoRedirect},
		tools:    newTools(o),
		routes:   &routes{statuses: map[string]map[int]int{}},
		quirks:   &quirks{envelopes: map[string]envelope{}, sent: map[string][]string{}},
	}, nil
}

// tokenPrefixes returns the tokens and their prefixes, which remain where a text was cut, longest
// first. Prefixes below eight bytes are too short to be worth hiding.
func tokenPrefixes(tokens ...string) []string {
	const shortest = 8
	var all []string
	for _, token := range tokens {
		for n := len(token); n > 0 && n >= min(shortest, len(token)); n-- {
			all = append(all, token[:n])
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// moveTo continues with a daemon that was restarted, maybe at another address. No check may be
// running.
func (d *target) moveTo(endpoint string) error {
	base, err := httpclient.ParseBaseURL(endpoint)
	if err != nil {
		return fmt.Errorf("endpoint of the restarted daemon: %w", err)
	}
	if brain := d.tools.moveTo(d.base, base); brain != "" {
		d.leave(brain)
	}
	d.http.CloseIdleConnections()
	d.base = base
	return nil
}

// open sends a request and returns the response with its body unread.
func (d *target) open(ctx context.Context, r request, brain string) (*http.Response, error) {
	d.quirks.note(r, brain)
	var body io.Reader
	if r.body != nil {
		body = strings.NewReader(*r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, d.base+d.urlPath(r, brain), body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.method, err)
	}
	if r.chunked {
		req.ContentLength = -1
	}
	httpclient.Identify(req, d.agent, d.tokenFor(r))
	req.Header.Set("Accept", "*/*")
	for _, h := range r.header {
		req.Header.Set(h[0], h[1])
	}
	req.Close = r.close
	began := time.Now()
	res, err := d.http.Do(req)
	if err != nil {
		return nil, d.noAnswer(r, brain, fmt.Errorf("%s: %w", d.describe(r, brain), httpclient.Cause(ctx, err)))
	}
	d.measure(time.Since(began))
	return res, nil
}

// measure notes how long a response took to begin.
func (d *target) measure(took time.Duration) {
	for {
		old := d.slowest.Load()
		if int64(took) <= old || d.slowest.CompareAndSwap(old, int64(took)) {
			return
		}
	}
}

// within returns a limit for what a daemon must do in time, or that of the run if it has one.
func (d *target) within(limit time.Duration) time.Duration { return cmp.Or(d.limit, limit) }

// patience returns how long to wait for what a fast daemon does within a time. A slow one gets
// several times as long as its slowest response, but not longer than a check waits for any.
func (d *target) patience(fast time.Duration) time.Duration {
	const times = 5
	return max(fast, min(d.timeout, times*time.Duration(d.slowest.Load())))
}

// noAnswer adds the request to the error of one that got no answer.
func (d *target) noAnswer(r request, brain string, err error) error {
	x := d.exchange(r, brain)
	d.mu.Lock()
	if d.lost == nil {
		d.lost = x
	}
	d.mu.Unlock()
	what := "got no answer"
	if timedOut(err) {
		what = "got no answer in time"
	}
	return failure{err, cause{route: x.route, what: what}, x}
}

// send sends a request and reads the response.
func (d *target) send(ctx context.Context, r request, brain string) (*response, error) {
	res, err := d.open(ctx, r, brain)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if r.streaming && res.StatusCode == http.StatusOK {
		head := &response{request: d.describe(r, brain), status: res.StatusCode, header: res.Header}
		head.seen = d.exchange(r, brain).answered(head)
		return head, nil
	}
	body, err := httpclient.ReadBody(res, maxBody)
	if err != nil {
		return nil, d.noAnswer(r, brain, fmt.Errorf("%s: read the response: %w", d.describe(r, brain), httpclient.Cause(ctx, err)))
	}
	answer := &response{request: d.describe(r, brain), status: res.StatusCode, header: res.Header, body: body}
	answer.seen = d.exchange(r, brain).answered(answer)
	d.routes.count(answer.seen)
	d.quirks.removeFrom(r, brain, answer)
	return answer, nil
}

func (d *target) urlPath(r request, brain string) string {
	p := r.path
	if !r.atRoot {
		p = "/v1/brains/" + url.PathEscape(brain) + p
	}
	if r.query != "" {
		p += "?" + r.query
	}
	return p
}

// describe returns a request's method and path for reports. Long paths are cut.
func (d *target) describe(r request, brain string) string {
	p := d.urlPath(r, brain)
	if len(p) > 160 {
		p = p[:160] + "…"
	}
	return r.method + " " + p
}

func (d *target) tokenFor(r request) string {
	if r.token != nil {
		return r.token(d)
	}
	return d.token
}
