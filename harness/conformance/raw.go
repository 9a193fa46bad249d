package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// raw sends a request as text over a connection of its own, for what an HTTP
// client would repair or hide. length is what Content-Length says; the body
// that follows may be shorter. It returns the answer, and what came after its
// head as it came.
func (t *trial) raw(ctx context.Context, r request, length int) (res *response, rest []byte, err error) {
	d := t.target
	line := d.lineOf(r, t.brain)
	t.remember(line)
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", line, blame(ctx, err))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, d.text(r, t.brain, length)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", line, blame(ctx, err))
	}
	came := bufio.NewReader(io.LimitReader(conn, maxBody))
	head, err := http.ReadResponse(came, &http.Request{Method: http.MethodHead})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: read the answer: %w", line, blame(ctx, err))
	}
	defer head.Body.Close()
	res = &response{line: line, status: head.StatusCode, header: head.Header}
	t.remember(fmt.Sprintf("%s → %d", line, res.status))
	var after bytes.Buffer
	if res.status/100 == 2 { // after a refusal the daemon may cut the connection
		if _, err := after.ReadFrom(came); err != nil {
			return nil, nil, fmt.Errorf("%s: read the answer: %w", line, blame(ctx, err))
		}
	}
	return res, after.Bytes(), nil
}

func (d *target) text(r request, brain string, length int) string {
	u, _ := url.Parse(d.base) // newTarget parsed it before
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", r.method, u.EscapedPath()+d.pathOf(r, brain), u.Host)
	if token := d.bearerOf(r); token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	for _, h := range r.header {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	if r.body != nil {
		fmt.Fprintf(&b, "Content-Length: %s\r\n", strconv.Itoa(length))
	}
	b.WriteString("\r\n")
	if r.body != nil {
		b.WriteString(*r.body)
	}
	return b.String()
}

func (d *target) dial(ctx context.Context) (net.Conn, error) {
	u, err := url.Parse(d.base)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if u.Scheme == "https" {
		if port == "" {
			port = "443"
		}
		return (&tls.Dialer{Config: &tls.Config{ServerName: u.Hostname()}}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	}
	if port == "" {
		port = "80"
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
}

// answersBare wants a status, and an answer that ends with its head.
func answersBare(r request, status int) step {
	return func(ctx context.Context, t *trial) error {
		length := 0
		if r.body != nil {
			length = len(*r.body)
		}
		res, rest, err := t.raw(ctx, r, length)
		if err != nil {
			return err
		}
		if err := res.judge(status, nil); err != nil {
			return err
		}
		if len(rest) > 0 {
			return fmt.Errorf("%s: want no bytes after the head of the answer, got %s", res.line, clip(rest))
		}
		return nil
	}
}
