package requirements

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"evalctl/internal/httpclient"
)

// sendRaw sends a request as text over a separate connection, where an HTTP client would repair the
// request or hide part of the response. length is the value of Content-Length; the body may be
// shorter. It returns the response and the bytes after its head.
func (c *client) sendRaw(ctx context.Context, r request, length int) (res *response, rest []byte, err error) {
	d := c.target
	name := d.describe(r, c.brain)
	c.remember(d.exchange(r, c.brain))
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, nil, d.noAnswer(r, c.brain, fmt.Errorf("%s: %w", name, httpclient.Cause(ctx, err)))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, d.rawText(r, c.brain, length)); err != nil {
		return nil, nil, d.noAnswer(r, c.brain, fmt.Errorf("%s: %w", name, httpclient.Cause(ctx, err)))
	}
	in := bufio.NewReader(io.LimitReader(conn, maxBody))
	head, err := http.ReadResponse(in, &http.Request{Method: http.MethodHead})
	if err != nil {
		return nil, nil, d.noAnswer(r, c.brain, fmt.Errorf("%s: read the response: %w", name, httpclient.Cause(ctx, err)))
	}
	defer head.Body.Close()
	res = &response{request: name, status: head.StatusCode, header: head.Header}
	res.seen = d.exchange(r, c.brain).answered(res)
	d.routes.count(res.seen)
	c.remember(res.seen)
	if err := res.withinRate(); err != nil {
		return nil, nil, err
	}
	var after bytes.Buffer
	if res.status/100 == 2 { // after an error the daemon may drop the connection
		if _, err := after.ReadFrom(in); err != nil {
			return nil, nil, d.noAnswer(r, c.brain, fmt.Errorf("%s: read the response: %w", name, httpclient.Cause(ctx, err)))
		}
	}
	return res, after.Bytes(), nil
}

func (d *Target) rawText(r request, brain string, length int) string {
	u, _ := url.Parse(d.base) // valid: Open parsed it
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method, u.EscapedPath()+d.urlPath(r, brain))
	fmt.Fprintf(&b, "Host: %s\r\nConnection: close\r\n", u.Host)
	if token := d.tokenFor(r); token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	for _, h := range r.header {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	if r.body != nil {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", length)
	}
	b.WriteString("\r\n")
	if r.body != nil {
		b.WriteString(*r.body)
	}
	return b.String()
}

func (d *Target) dial(ctx context.Context) (net.Conn, error) {
	u, _ := url.Parse(d.base) // valid: Open parsed it
	if u.Scheme == "https" {
		tlsDialer := &tls.Dialer{Config: &tls.Config{ServerName: u.Hostname()}}
		return tlsDialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
}

// expectNoBody requires a status, and a response that ends after its head.
func expectNoBody(r request, status int) step {
	return func(ctx context.Context, c *client) error {
		length := 0
		if r.body != nil {
			length = len(*r.body)
		}
		res, rest, err := c.sendRaw(ctx, r, length)
		if err != nil {
			return err
		}
		if err := res.verify(status); err != nil {
			return err
		}
		if len(rest) > 0 {
			res.body = rest // the evidence
			return contradiction{c.target.exchange(r, c.brain).answered(res).about(
				because("has a body", "%s: want no bytes after the head of the response, got %s", res.request, excerpt(rest)))}
		}
		return nil
	}
}
