package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"evalctl/daemon/protocol"
)

// Serve makes srv serve the API on ln until srv is shut down or closed. It sets Handler and
// ConnContext, and extends ConnState.
//
// net/http rejects some requests before any handler sees them, in plain text: requests that it
// cannot parse, with a header that is too large, or with an unknown expectation or transfer
// encoding. It writes these responses to the connection while no handler is running there. The
// connections replace them by Problems, and pass on everything else unchanged.
func (a *API) Serve(srv *http.Server, ln net.Listener) error {
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.serving.Store(true)
		}
		a.ServeHTTP(w, r)
	})
	next := srv.ConnState
	srv.ConnState = func(nc net.Conn, state http.ConnState) {
		// The response has been written to its end, also before the next of pipelined requests.
		if c, ok := nc.(*conn); ok && state == http.StateIdle {
			c.serving.Store(false)
		}
		if next != nil {
			next(nc, state)
		}
	}
	a.lobby.idle = srv.IdleTimeout
	var returning sync.WaitGroup
	returning.Go(func() { _ = srv.Serve(a.lobby) }) // ends when the lobby is closed
	err := srv.Serve(&listening{ln, a})
	_ = a.lobby.Close()
	returning.Wait()
	a.lobby.stays.Wait()
	a.refusals.flush()
	return err
}

type connKey struct{}

// listening is a listener whose connections are of type *conn.
type listening struct {
	net.Listener
	api *API
}

func (l *listening) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, refused: l.api.refused}, nil
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	// refused is called for each rejection with its request id, status and reason.
	refused func(id string, status int, reason string)
	// serving is true from the call of the handler until its response has been sent.
	serving atomic.Bool
	// patient is the time until which a refused client was asked to wait, in nanoseconds since
	// 1970.
	patient atomic.Int64
	// early has bytes that were read from the connection before the server reads from it.
	early []byte
}

func (c *conn) Read(p []byte) (int, error) {
	if n := copy(p, c.early); n > 0 {
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite is called by net/http so that a client receives a rejection before the connection is
// reset.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

func (c *conn) Write(p []byte) (int, error) {
	if c.serving.Load() {
		return c.Conn.Write(p)
	}
	status, reason, ok := parseRejection(p)
	if !ok {
		return c.Conn.Write(p)
	}
	id := rand.Text()
	c.refused(id, status, reason)
	if _, err := c.Conn.Write(rejection(id, status, reason)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// parseRejection returns the status and the text of a complete error response of net/http.
func parseRejection(p []byte) (status int, reason string, ok bool) {
	head, body, ok := bytes.Cut(p, []byte("\r\n\r\n"))
	line, found := bytes.CutPrefix(head, []byte("HTTP/1.1 "))
	if !ok || !found || len(line) < 3 {
		return 0, "", false
	}
	status, err := strconv.Atoi(string(line[:3]))
	if err != nil || status < 400 || status > 599 {
		return 0, "", false
	}
	// The text is either only the status again, or also says more.
	reason = strings.TrimPrefix(string(body), fmt.Sprintf("%d %s", status, http.StatusText(status)))
	return status, strings.TrimPrefix(reason, ": "), true
}

// rejection is the response that is sent instead.
func rejection(id string, status int, reason string) []byte {
	title := http.StatusText(status)
	code := strings.ReplaceAll(strings.ToLower(title), " ", "_")
	if status == http.StatusBadRequest {
		code = protocol.CodeValidation
	}
	body := encode(protocol.Problem{Status: status, Title: title, Code: code, Detail: cmp.Or(reason, reasons[status], title)})
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, title, protocol.TypeProblem, len(body))
	fmt.Fprintf(&b, "X-Content-Type-Options: nosniff\r\n%s: %s\r\nConnection: close\r\n\r\n", requestIDHeader, id)
	b.Write(body)
	return b.Bytes()
}

// reasons are for rejections without a text.
var reasons = map[int]string{
	http.StatusBadRequest: "the request is not valid HTTP: check the escapes and characters of the " +
		"request line, and the form of the header",
	http.StatusExpectationFailed:           "the only supported value of the header Expect is 100-continue",
	http.StatusRequestHeaderFieldsTooLarge: "the header of the request is too large",
}

// refused counts and logs a request that net/http has rejected.
func (a *API) refused(id string, status int, reason string) {
	a.metrics.requests.WithLabelValues("none", "other", strconv.Itoa(status)).Inc()
	a.logger.LogAttrs(context.Background(), slog.LevelInfo, "request rejected before it was read",
		slog.String("request_id", id), slog.Int("status", status), slog.String("reason", reason))
}
