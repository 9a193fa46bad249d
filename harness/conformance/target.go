package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/redact"
)

const (
	// maxBody is the largest response that is read, in bytes.
	maxBody = 64 << 20
	// cleanupTimeout bounds the deletion of a check's brain, which also happens after the run was
	// interrupted.
	cleanupTimeout = 10 * time.Second
)

// target is the daemon under test. It is safe for concurrent use.
type target struct {
	base                         string
	token, readOnly, otherTenant string
	redactor                     *redact.Redactor // applied to what is reported, not to what is judged
	agent                        string
	http                         *http.Client
	tools                        *tools // nil without an MCP server

	// What the probe found out. Nothing changes after it.
	probed  bool
	healthy bool // GET /healthz returned 2xx
	deletes bool // brains can be deleted
	shape   int  // index into brainShapes
	quirks  quirks

	mu   sync.Mutex
	left []string // brains that could not be deleted
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
		base: base, agent: o.Agent,
		token: o.Token, readOnly: o.ReadOnlyToken, otherTenant: o.OtherTenantToken,
		redactor: redact.New(tokenPrefixes(o.Token, o.ReadOnlyToken, o.OtherTenantToken)...),
		http:     &http.Client{Transport: tr, CheckRedirect: httpclient.NoRedirect},
		tools:    newTools(o),
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
	res, err := d.http.Do(req)
	if err != nil {
		return nil, d.noAnswer(r, brain, fmt.Errorf("%s: %w", d.describe(r, brain), httpclient.Cause(ctx, err)))
	}
	return res, nil
}

// noAnswer adds the request to the error of one that got no answer.
func (d *target) noAnswer(r request, brain string, err error) error {
	x := d.exchange(r, brain)
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
	d.quirks.removeFrom(r, answer)
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

// brainShapes are bodies of requests that create a brain, given its name. The first one has the
// keys of all known dialects; the others are for daemons that reject keys.
var brainShapes = []func(id string) object{
	func(id string) object { return object{"id": id, "brainId": id, "name": id, "slug": id} },
	func(id string) object { return object{"name": id, "slug": id} },
	func(id string) object { return object{"name": id} },
	func(id string) object { return object{"brainId": id} },
	func(id string) object { return object{"id": id} },
}

// newBrainName returns a name that no other run uses. It can also be an id and a slug.
func newBrainName() string { return "conformance-" + strings.ToLower(rand.Text()) }

// createBrain creates a brain under a name that no other run uses and returns its id.
func (d *target) createBrain(ctx context.Context) (id string, err error) {
	id = newBrainName()
	for {
		r := daemonRequest(http.MethodPost, "/v1/brains").withJSON(brainShapes[d.shape](id))
		res, err := d.send(ctx, r, "")
		if err != nil {
			return "", fmt.Errorf("create a brain: %w", err)
		}
		if res.status/100 == 2 {
			return cmp.Or(res.brainID(), id), nil
		}
		if d.probed || d.shape+1 == len(brainShapes) || res.status != http.StatusBadRequest {
			return "", unjudged{ReasonSetup, res.wantStatus("2xx", fmt.Errorf("create a brain: %s", res))}
		}
		d.shape++
	}
}

// brainID returns the id in the response to the creation of a brain, or "".
func (r *response) brainID() string {
	type ids struct {
		ID, BrainID string
		Snake       string `json:"brain_id"`
	}
	var created struct {
		ids
		Brain ids
	}
	if json.Unmarshal(r.body, &created) != nil {
		return ""
	}
	return cmp.Or(created.ID, created.BrainID, created.Snake, created.Brain.ID, created.Brain.BrainID,
		created.Brain.Snake)
}

// deleteBrain deletes a check's brain, even after ctx has ended. A brain that cannot be deleted is
// named in the report. It does not change the verdict.
func (d *target) deleteBrain(ctx context.Context, id string) {
	if !d.deletes {
		d.leave(id)
		return
	}
	res, err := d.requestDeletion(ctx, id)
	// The check may have deleted the brain. Then the daemon returns 404, or 403 if it does not
	// reveal to the token which brains exist.
	if err != nil || res.status/100 != 2 && res.status != http.StatusNotFound && res.status != http.StatusForbidden {
		d.leave(id)
	}
}

func (d *target) leave(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, id)
}

// brainsLeft returns the brains that the run created and could not delete.
func (d *target) brainsLeft() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := make([]string, len(d.left))
	for i, id := range d.left {
		left[i] = d.redactor.Text(id)
	}
	slices.Sort(left)
	return left
}

// deleteLeft deletes the brains that could not be deleted because the daemon was dead. A restarted
// daemon need not have them.
func (d *target) deleteLeft(ctx context.Context) {
	d.mu.Lock()
	left := d.left
	d.left = nil
	d.mu.Unlock()
	for _, id := range left {
		d.deleteBrain(ctx, id)
	}
}

func (d *target) requestDeletion(ctx context.Context, id string) (*response, error) {
	run := ctx
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), cleanupTimeout, errCheckTimeout)
	defer cancel()
	defer context.AfterFunc(run, func() {
		if errors.Is(context.Cause(run), ErrDied) {
			cancel() // no use to wait for a dead daemon
		}
	})()
	r := daemonRequest(http.MethodDelete, "/v1/brains/"+url.PathEscape(id)).withHeader("X-Confirm-Delete", "yes")
	r.close = true // some daemons drop the connection after this response
	res, err := d.send(ctx, r, "")
	if err != nil {
		return nil, fmt.Errorf("delete the check's brain: %w", err)
	}
	return res, nil
}
