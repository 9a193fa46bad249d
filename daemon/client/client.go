// Package client speaks the HTTP API of a memory service (spec 4.2, 5 to 8):
// brains, documents, search, ask and change events.
//
// Nothing is retried: which operations may be repeated is for the caller to
// know (spec 7.4). Redirects are not followed, so that a daemon cannot send
// the token elsewhere.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"evalctl/daemon/protocol"
)

// Defaults of Options.
const (
	DefaultTimeout   = 30 * time.Second // spec 8
	DefaultUserAgent = "evalctl-go"
	DefaultSilence   = 75 * time.Second // three pings (spec 8)
)

// Options of a Client. Nil and the zero value mean the defaults.
type Options struct {
	// APIKey or else Token is sent as the bearer token of every request
	// (spec 5). Neither ever stands in an error.
	APIKey string
	Token  string
	// UserAgent identifies the program. Default: DefaultUserAgent.
	UserAgent string
	// HTTPClient sends the requests; its Timeout and CheckRedirect are not
	// used. Default: one with its own connections, which Close drops.
	HTTPClient *http.Client
	// Timeout bounds each request together with the caller's context, and of
	// an event stream the time until it is attached. An answer to ask may take
	// any time. Default: DefaultTimeout.
	Timeout time.Duration
	// Silence is how long a change stream may say nothing, not even a ping,
	// before it is given up. It must be above the ping interval of the daemon.
	// Default: DefaultSilence.
	Silence time.Duration
}

// Client is a daemon's API. It is safe for concurrent use.
type Client struct {
	base    string
	token   string
	agent   string
	timeout time.Duration
	silence time.Duration
	http    *http.Client
	own     *http.Transport // nil when the caller gave an http.Client
}

// idleConns is how many connections are kept for the next requests.
const idleConns = 32

// New makes a client for the API at baseURL, which is http or https and may
// have a path. Trailing slashes are dropped. Nothing is sent.
func New(baseURL string, opts *Options) (*Client, error) {
	if opts == nil {
		opts = &Options{}
	}
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	switch {
	case err != nil: // it would show a password
		return nil, errors.New("base URL cannot be parsed: give one such as http://127.0.0.1:8787")
	case u.User != nil:
		return nil, fmt.Errorf("base URL %s must not hold a user or password: give a token instead", u.Redacted())
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL %q must be one such as http://127.0.0.1:8787", baseURL)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("base URL %s must end with its path, without ? or #", u)
	}
	token := cmp.Or(opts.APIKey, opts.Token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("token holds a space, a control character or a character outside ASCII")
	}
	c := &Client{
		base:    u.String(),
		token:   token,
		agent:   cmp.Or(opts.UserAgent, DefaultUserAgent),
		timeout: cmp.Or(opts.Timeout, DefaultTimeout),
		silence: cmp.Or(opts.Silence, DefaultSilence),
		http:    &http.Client{},
	}
	if opts.HTTPClient != nil {
		*c.http = *opts.HTTPClient
		c.http.Timeout = 0 // it would cut streams
	} else {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.own.MaxIdleConnsPerHost = idleConns
		c.http.Transport = c.own
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// Close drops the idle connections, unless they belong to Options.HTTPClient.
// The client stays usable.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Health asks whether the daemon is there. It needs no token.
func (c *Client) Health(ctx context.Context) (protocol.Health, error) {
	return call[protocol.Health](ctx, c, request{method: http.MethodGet, path: "/healthz"})
}

const brainsPath = "/v1/brains"

// CreateBrain makes a brain. One that exists is CodeConflict.
func (c *Client) CreateBrain(ctx context.Context, b protocol.CreateBrain) (protocol.Brain, error) {
	r := request{method: http.MethodPost, path: brainsPath}
	if err := r.check(
		atMost("name", b.Name, protocol.MaxBrainName),
		atMost("slug", b.Slug, protocol.MaxBrainSlug),
	); err != nil {
		return protocol.Brain{}, err
	}
	if err := r.json(b); err != nil {
		return protocol.Brain{}, err
	}
	return call[protocol.Brain](ctx, c, r)
}

// Brains lists the brains that the token may see.
func (c *Client) Brains(ctx context.Context) ([]protocol.Brain, error) {
	list, err := call[protocol.BrainList](ctx, c, request{method: http.MethodGet, path: brainsPath})
	return list.Items, err
}

// Brain is one brain of a daemon. It is safe for concurrent use.
type Brain struct {
	c    *Client
	path string
}

// Brain names a brain by its id. Nothing is sent.
func (c *Client) Brain(id string) *Brain {
	return &Brain{c: c, path: brainsPath + "/" + segment(id)}
}

// segment escapes an id for a URL's path.
func segment(id string) string {
	// PathEscape leaves dots alone, and a segment of dots would name another
	// resource.
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}

// Info returns the brain's record.
func (b *Brain) Info(ctx context.Context) (protocol.Brain, error) {
	return call[protocol.Brain](ctx, b.c, request{method: http.MethodGet, path: b.path})
}

// Remove deletes the brain with all its documents.
func (b *Brain) Remove(ctx context.Context) error {
	header := http.Header{"X-Confirm-Delete": {"yes"}}
	return b.c.send(ctx, request{method: http.MethodDelete, path: b.path, header: header})
}
