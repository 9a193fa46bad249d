// Package fetch gets pages whose URLs come from clients, which may be anyone: a URL must not lead
// to hosts that only the daemon's machine or network can reach, and a page must not exhaust the
// daemon.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/printable"
)

const (
	// MaxBytes is the largest body, counted after decompression (spec 8).
	MaxBytes = 5 << 20
	// maxRedirects is how many redirects are followed.
	maxRedirects = 5
	// maxHeader limits the header of a response, in bytes.
	maxHeader      = 64 << 10
	defaultTimeout = 30 * time.Second
	userAgent      = "evalctl-fetch/1"
)

// The kinds of errors of Get. Their texts name the URL without user, query and fragment, which may
// contain secrets, and never the address of a host name.
var (
	// ErrURL means that a URL, also one of a redirect, is malformed or not permitted.
	ErrURL = errors.New("URL cannot be fetched")
	// ErrAddress means that the host has an address that is not of the public internet.
	ErrAddress = errors.New("address is not public")
	// ErrTooLarge means that the body has more than MaxBytes.
	ErrTooLarge = errors.New("page is too large")
	// ErrUnsupported means that the page has a content type or encoding that is not supported.
	ErrUnsupported = errors.New("unsupported content type")
	// ErrUpstream means that the server could not be reached, took too long, or failed.
	ErrUpstream = errors.New("server of the page failed")
	// ErrStatus accompanies ErrUpstream when the server answered with a status outside 2xx.
	ErrStatus = errors.New("unexpected status")
)

// contentTypes are the types of pages, without parameters.
var contentTypes = []string{
	"text/html", "application/xhtml+xml", "text/plain", "text/markdown", "application/json",
	"application/pdf",
}

// Options configures a Fetcher. The zero value means the defaults.
type Options struct {
	// AllowPrivate permits every address, including this machine and private networks.
	AllowPrivate bool
	// Timeout limits Get, with all redirects and the body. Default: 30 s.
	Timeout time.Duration
}

// Fetcher fetches pages. It is safe for concurrent use.
type Fetcher struct {
	opts      Options
	transport *http.Transport
	resolver  *net.Resolver // nil is the system's
}

// New returns a Fetcher. It ignores the proxies in the environment, because a proxy would connect
// to addresses that the Fetcher has not checked.
func New(opts Options) *Fetcher {
	if opts.Timeout == 0 {
		opts.Timeout = defaultTimeout
	}
	f := &Fetcher{opts: opts}
	f.transport = &http.Transport{
		DialContext:            f.dial,
		DisableKeepAlives:      true, // every request checks its address
		DisableCompression:     true, // bodies are decompressed by readBody
		MaxResponseHeaderBytes: maxHeader,
	}
	return f
}

// Page is a page as it was sent, without the compression of the transport.
type Page struct {
	URL         *url.URL // after all redirects
	ContentType string   // the header, with its parameters
	Body        []byte
}

// Get fetches a page. The URL must be http or https, without user information, on port 80, 443 or
// one from 1024. The page must be of a type that can be converted: HTML, XHTML, plain text,
// Markdown, JSON or PDF. Get sends neither cookies nor a referrer nor credentials. It follows at
// most 5 redirects, which have to keep the same rules.
//
// The address is checked when it is connected to, so a name that changes its address in between
// gains nothing. Errors wrap ErrURL, ErrAddress, ErrTooLarge, ErrUnsupported or ErrUpstream; if ctx
// has ended, they wrap its error.
func (f *Fetcher) Get(ctx context.Context, rawURL string) (Page, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error repeats the URL.
		return Page{}, fmt.Errorf("%w: it is malformed", ErrURL)
	}
	limited, cancel := context.WithTimeout(ctx, f.opts.Timeout)
	defer cancel()
	page, err := f.follow(limited, u)
	switch {
	case err == nil:
		return page, nil
	case ctx.Err() != nil:
		return Page{}, ctx.Err()
	case limited.Err() != nil:
		return Page{}, fmt.Errorf("%s: %w: no complete answer within %v", shown(u), ErrUpstream, f.opts.Timeout)
	}
	return Page{}, err
}

// follow gets a page and follows redirects.
func (f *Fetcher) follow(ctx context.Context, u *url.URL) (Page, error) {
	var from *url.URL
	for range maxRedirects + 1 {
		err := f.check(u)
		if err != nil && from != nil {
			return Page{}, fmt.Errorf("%s redirects: %w", shown(from), err)
		}
		if err != nil {
			return Page{}, err
		}
		page, next, err := f.get(ctx, u)
		if err != nil {
			return Page{}, fmt.Errorf("%s: %w", shown(u), err)
		}
		if next == nil {
			return page, nil
		}
		from, u = u, next
	}
	return Page{}, fmt.Errorf("%s: %w: more than %d redirects", shown(u), ErrUpstream, maxRedirects)
}

// get sends one request. next is where the answer redirects to, or nil.
func (f *Fetcher) get(ctx context.Context, u *url.URL) (page Page, next *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, nil, fmt.Errorf("%w: it is malformed", ErrURL)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", strings.Join(contentTypes, ", "))
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := f.transport.RoundTrip(req)
	if err != nil {
		return Page{}, nil, networkError(err)
	}
	defer res.Body.Close()
	if location := res.Header.Get("Location"); isRedirect(res.StatusCode) && location != "" {
		next, err := u.Parse(location)
		if err != nil {
			return Page{}, nil, fmt.Errorf("%w: it redirects to a malformed URL", ErrURL)
		}
		return Page{}, next, nil
	}
	// Nobody asked for a part.
	if res.StatusCode/100 != 2 || res.StatusCode == http.StatusPartialContent {
		return Page{}, nil, fmt.Errorf("%w: %w %d", ErrUpstream, ErrStatus, res.StatusCode)
	}
	contentType := res.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !slices.Contains(contentTypes, media) {
		return Page{}, nil, fmt.Errorf("%w %.100q: the supported ones are %s", ErrUnsupported, contentType,
			strings.Join(contentTypes, ", "))
	}
	body, err := readBody(res)
	if err != nil {
		return Page{}, nil, err
	}
	return Page{URL: u, ContentType: contentType, Body: body}, nil, nil
}

func isRedirect(status int) bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, status)
}

// check applies the rules of Get to a URL.
func (f *Fetcher) check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: it does not begin with http:// or https://", ErrURL)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it has no host", ErrURL)
	case u.User != nil:
		return fmt.Errorf("%s: %w: it contains a user or password", shown(u), ErrURL)
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n < 1024 && n != 80 && n != 443 {
			return fmt.Errorf("%s: %w: the port is not 80, 443 or one from 1024", shown(u), ErrURL)
		}
	}
	// Only for a better message: dial checks every address.
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !f.opts.AllowPrivate {
		if why := refused(addr); why != "" {
			return fmt.Errorf("%s: %w: %s", shown(u), ErrAddress, why)
		}
	}
	return nil
}

// dial connects to an address that is permitted.
func (f *Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Resolver: f.resolver, Control: f.control}
	return d.DialContext(ctx, network, address)
}

// control is called with the resolved address before it is connected to.
func (f *Fetcher) control(_, address string, _ syscall.RawConn) error {
	if f.opts.AllowPrivate {
		return nil
	}
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: it cannot be parsed", ErrAddress)
	}
	if why := refused(addr.Addr()); why != "" {
		return fmt.Errorf("%w: %s", ErrAddress, why)
	}
	return nil
}

// networkError keeps the reason of a failed request, without the addresses in it.
func networkError(err error) error {
	if errors.Is(err, ErrAddress) {
		if e, ok := errors.AsType[*net.OpError](err); ok {
			return e.Err
		}
		return err
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("%w: its host name cannot be resolved: %s", ErrUpstream, e.Err)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%w: %s: %w", ErrUpstream, e.Op, e.Err)
	}
	return fmt.Errorf("%w: %w", ErrUpstream, httpclient.Cause(context.Background(), err))
}

// shown is a URL without the parts that may contain secrets.
func shown(u *url.URL) string {
	public := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return printable.Short(strings.ToValidUTF8(public.String(), ""), 500)
}
