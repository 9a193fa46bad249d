package requirements

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evalctl/harness/census"
	"evalctl/internal/httpclient"
	"evalctl/internal/printable"
	"evalctl/internal/redact"
	"evalctl/internal/retry"
)

// maxBody limits the size of a response, in bytes.
const maxBody = 64 << 20

// Target is the daemon under test. It is safe for concurrent use, except for MoveTo. The caller
// must call Close.
type Target struct {
	config   Config
	base     string
	redactor *redact.Redactor // applied to reports, not to judged data
	http     *http.Client
	tools    *tools // nil without an MCP server

	// Found by the probe and constant afterwards.
	healthy     bool           // GET /healthz returned 2xx
	reached     bool           // it returned any response
	deadly      string         // the route at which a daemon died that was probed before
	before      *census.Census // the brains before the first probe, nil without one
	creation    creation
	deletes     bool   // brains can be deleted
	undeletable string // why not

	quirks  *quirks
	routes  *routes      // what each route returned
	slowest atomic.Int64 // the longest time until a response began, in nanoseconds

	mu      sync.Mutex
	left    []string  // brains that could not be deleted
	deleted []string  // those that the daemon says it has deleted
	lost    *exchange // the first request that got no answer
}

// Open returns the target for a configuration. It returns an error for an invalid endpoint, and
// sends nothing.
func Open(c Config) (*Target, error) {
	var base string
	if c.Endpoint != "" || c.MCP == "" {
		var err error
		if base, err = httpclient.ParseBaseURL(c.Endpoint); err != nil {
			return nil, fmt.Errorf("endpoint %w", err)
		}
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.Proxy = nil // some checks use the socket directly; all checks must reach the same server
	tr.DisableCompression = true
	tr.MaxIdleConnsPerHost = 2 * c.Parallel
	return &Target{
		config: c, base: base,
		redactor: redact.New(append(tokenPrefixes(c.Token, c.ReadOnlyToken, c.OtherTenantToken), c.Secrets...)...),
		// A check may judge what a daemon does with a token, but with no other secret.
		http:   &http.Client{Transport: redact.New(c.otherSecrets()...).Transport(tr), CheckRedirect: httpclient.NoRedirect},
		tools:  newTools(c),
		routes: &routes{statuses: map[string]map[int]int{}},
		quirks: &quirks{envelopes: map[string]envelope{}, sent: map[string][]string{}},
	}, nil
}

// Close ends the connections.
func (d *Target) Close() {
	d.http.CloseIdleConnections()
	d.tools.close()
}

// Endpoint returns the base URL of the daemon, or "" if there is only a server of tools.
func (d *Target) Endpoint() string { return d.base }

// MCPVersion returns the MCP version last agreed with the server of tools, "" for none.
func (d *Target) MCPVersion() string { return d.tools.agreed() }

// Redact returns a text without tokens, for a report.
func (d *Target) Redact(text string) string { return d.redactor.Text(text) }

// Healthy reports whether the daemon returned 2xx to GET /healthz when it was probed.
func (d *Target) Healthy() bool { return d.healthy }

// Reached reports whether the daemon returned anything to GET /healthz when it was probed.
func (d *Target) Reached() bool { return d.reached }

// Lost returns the first request without an answer since the target was opened or moved, or "".
func (d *Target) Lost() string {
	if d.lost == nil {
		return ""
	}
	return d.lost.requestText(d.Redact)
}

// tokenPrefixes returns the tokens and their prefixes, which remain when a text is cut. Prefixes
// below eight bytes are too short to hide.
func tokenPrefixes(tokens ...string) (all []redact.Secret) {
	const shortest = 8
	for _, token := range tokens {
		for n := len(token); n > 0 && n >= min(shortest, len(token)); n-- {
			all = append(all, redact.Token(token[:n]))
		}
	}
	return all
}

// MoveTo continues with a restarted daemon, perhaps at another address. No check may be running. It
// returns an error for an invalid endpoint.
func (d *Target) MoveTo(endpoint string) error {
	base, err := httpclient.ParseBaseURL(endpoint)
	if err != nil {
		return fmt.Errorf("endpoint of the restarted daemon: %w", err)
	}
	if brain := d.tools.moveTo(d.base, base); brain != "" {
		d.leave(brain)
	}
	d.http.CloseIdleConnections()
	d.base = base
	if d.lost != nil {
		d.deadly, d.lost = d.lost.route, nil
	}
	return nil
}

// open sends a request and returns the response with its body unread.
func (d *Target) open(ctx context.Context, r request, brain string) (*http.Response, error) {
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
	httpclient.Identify(req, d.config.Agent, d.tokenFor(r))
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

// measure records how long a response took to begin.
func (d *Target) measure(took time.Duration) {
	for {
		old := d.slowest.Load()
		if int64(took) <= old || d.slowest.CompareAndSwap(old, int64(took)) {
			return
		}
	}
}

// within returns the run's limit for what a daemon must do in time, or else the given one.
func (d *Target) within(limit time.Duration) time.Duration { return cmp.Or(d.config.Within, limit) }

// patience returns how long to wait for what a fast daemon does within a time. A slow daemon gets
// several times its slowest response, but not longer than a check waits for any response.
func (d *Target) patience(fast time.Duration) time.Duration {
	const times = 5
	return max(fast, min(d.config.Timeout, times*time.Duration(d.slowest.Load())))
}

// noAnswer adds the request to an error without an answer.
func (d *Target) noAnswer(r request, brain string, err error) error {
	x := d.exchange(r, brain)
	d.mu.Lock()
	if d.lost == nil {
		d.lost = x
	}
	d.mu.Unlock()
	what := "got no answer"
	if TimedOut(err) {
		what = "got no answer in time"
	}
	return failure{err, Cause{Route: x.route, What: what}, x}
}

// roundTrip sends a request and reads the response.
func (d *Target) roundTrip(ctx context.Context, r request, brain string) (*response, error) {
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

func (d *Target) urlPath(r request, brain string) string {
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
func (d *Target) describe(r request, brain string) string {
	return r.method + " " + printable.Short(d.urlPath(r, brain), 160)
}

func (d *Target) tokenFor(r request) string {
	if r.token != nil {
		return r.token(d.config)
	}
	return d.config.Token
}

// exchange returns an exchange without its response.
func (d *Target) exchange(r request, brain string) *exchange {
	x := &exchange{route: r.method + " " + routeOf(r), line: r.method + " " + d.urlPath(r, brain), header: r.header}
	if token := d.tokenFor(r); token != "" {
		x.header = append([][2]string{{"Authorization", "Bearer " + token}}, x.header...)
	}
	if r.body != nil {
		x.body = *r.body
	}
	if x.same = x.route; !r.atRoot { // other bodies have names of their own
		x.same = strings.Join([]string{r.method, r.path, r.query, x.body}, " ")
	}
	if names := optionsOf(r); len(names) > 0 {
		x.options = " with " + strings.Join(names, ", ")
	}
	return x
}

func (d *Target) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, id)
}

// patiently sends a request up to three times, with pauses, to a daemon that may be at its rate
// limit or fails occasionally.
func (d *Target) patiently(ctx context.Context, pause time.Duration, ask func() (*response, error)) (*response, error) {
	const tries = 3
	var failed []*exchange
	for try := 1; ; try++ {
		res, err := ask()
		if err == nil && res.status/100 == 2 {
			d.routes.strayed(failed)
		}
		if err != nil || !mayPass(res.status) || try == tries {
			return res, err
		}
		failed = append(failed, res.seen)
		if retry.Sleep(ctx, pause) != nil {
			return res, nil
		}
	}
}
