// Package client is a client of the HTTP API of a memory service (spec 4.2, 5 to 8): brains,
// documents, search, ask and change events.
//
// It does not retry requests: the caller must decide which of them may be repeated (spec 7.4). It
// does not follow redirects, so that a daemon cannot send the token elsewhere.
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
	"evalctl/internal/httpclient"
)

// Defaults of Options.
const (
	defaultTimeout   = 30 * time.Second // spec 8
	defaultUserAgent = "evalctl-go"
	defaultSilence   = 75 * time.Second // three pings (spec 8)
)

// Options of a Client. Nil and the zero value mean the defaults.
type Options struct {
	// APIKey, or Token if that is empty, is sent as the bearer token of every request (spec 5).
	// Errors never contain either.
	APIKey string
	Token  string
	// UserAgent identifies the program. Default: evalctl-go.
	UserAgent string
	// HTTPClient sends the requests; its Timeout and CheckRedirect are not used. Default: a client
	// with connections of its own, which Close closes.
	HTTPClient *http.Client
	// Timeout limits each request, in addition to the caller's context. For a change stream it
	// limits the time until the stream is attached. It does not limit Ask and Consolidate, for
	// which the daemon calls a model. Default: 30 s.
	Timeout time.Duration
	// Silence is how long a change stream may send nothing, not even a ping, before Events ends it.
	// It must be longer than the ping interval of the daemon. Default: 75 s.
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
	own     *http.Transport // nil with Options.HTTPClient
}

// idleConns is how many idle connections are kept.
const idleConns = 32

// New returns a client of the API at baseURL, which is http or https and may have a path. Trailing
// slashes are dropped. New sends nothing.
func New(baseURL string, opts *Options) (*Client, error) {
	if opts == nil {
		opts = &Options{}
	}
	base, err := httpclient.ParseBaseURL(baseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL %w", err)
	}
	token := cmp.Or(opts.APIKey, opts.Token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("token contains a space, a control character or a character outside ASCII")
	}
	c := &Client{
		base:    base,
		token:   token,
		agent:   cmp.Or(opts.UserAgent, defaultUserAgent),
		timeout: cmp.Or(opts.Timeout, defaultTimeout),
		silence: cmp.Or(opts.Silence, defaultSilence),
		http:    &http.Client{},
	}
	if opts.HTTPClient != nil {
		*c.http = *opts.HTTPClient
		c.http.Timeout = 0 // would end streams
	} else {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.own.MaxIdleConnsPerHost = idleConns
		c.own.DisableCompression = true // Decompressing reads them, within its bounds
		c.http.Transport = httpclient.Decompressing(c.own, true)
	}
	c.http.CheckRedirect = httpclient.NoRedirect
	return c, nil
}

// Close closes the idle connections, unless they belong to Options.HTTPClient. The client remains
// usable.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Health reports the state of the daemon. It needs no token.
func (c *Client) Health(ctx context.Context) (protocol.Health, error) {
	return call[protocol.Health](ctx, c, request{method: http.MethodGet, path: "/healthz"})
}

const brainsPath = "/v1/brains"

// CreateBrain creates a brain. Code of the error is protocol.CodeConflict if it exists.
func (c *Client) CreateBrain(ctx context.Context, b protocol.CreateBrain) (protocol.Brain, error) {
	r := request{method: http.MethodPost, path: brainsPath}
	r.check(
		limitChars("name", b.Name, protocol.MaxBrainName),
		limitChars("slug", b.Slug, protocol.MaxBrainSlug),
	)
	r.json(b)
	return call[protocol.Brain](ctx, c, r)
}

// Brains lists the brains that the token permits, and names the default one.
func (c *Client) Brains(ctx context.Context) (protocol.BrainList, error) {
	return call[protocol.BrainList](ctx, c, request{method: http.MethodGet, path: brainsPath})
}

// DefaultBrain is Brains with only the first brain, if the daemon supports that.
func (c *Client) DefaultBrain(ctx context.Context) (protocol.BrainList, error) {
	r := request{method: http.MethodGet, path: brainsPath, query: url.Values{"limit": {"1"}}}
	return call[protocol.BrainList](ctx, c, r)
}

// Brain is one brain of a daemon. It is safe for concurrent use.
type Brain struct {
	c    *Client
	path string
}

// Brain returns a handle of the brain with an id. It sends nothing. The reference daemon also
// accepts the slug of one of the token's own brains.
func (c *Client) Brain(id string) *Brain {
	return &Brain{c: c, path: brainsPath + "/" + httpclient.Segment(id)}
}

// Path returns the path of the brain's URL below the base URL, escaped.
func (b *Brain) Path() string { return b.path }

// Info returns the brain's record.
func (b *Brain) Info(ctx context.Context) (protocol.Brain, error) {
	return call[protocol.Brain](ctx, b.c, request{method: http.MethodGet, path: b.path})
}

// Remove deletes the brain with all its documents.
func (b *Brain) Remove(ctx context.Context) error {
	header := http.Header{"X-Confirm-Delete": {"yes"}}
	return b.c.send(ctx, request{method: http.MethodDelete, path: b.path, header: header})
}
