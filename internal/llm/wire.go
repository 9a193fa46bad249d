package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
)

const (
	maxAnswerBytes  = 16 << 20
	maxRefusalBytes = 64 << 10
)

var (
	errRefused   = errors.New("refused")
	errSilent    = errors.New("silent")
	errTooLong   = errors.New("too long")
	errTruncated = errors.New("the stream ended before the answer did (no finish_reason)")
)

// exchange is one HTTP request, with the details that the client library hides. once passes it to
// the transport in the request's context.
type exchange struct {
	// fields are sent in addition to the library's.
	fields  map[string]any
	timer   *time.Timer   // of silence
	timeout time.Duration // of the whole exchange; 0 is none

	sent    bool // handed to the transport
	emitted bool // some of the answer arrived
	status  int
	header  http.Header
	refusal []byte
	readErr error // the connection broke inside the response
	// keepBody is set if body is to receive an answer that is not a stream, in place of the
	// library, which gets an empty object.
	keepBody bool
	body     []byte

	// Set by the transport's goroutines.
	dialled   atomic.Bool
	connected atomic.Bool
}

type exchangeKey struct{}

// start returns a context for the exchange that is cancelled with errSilent if no byte arrives for
// too long, and with errTooLong at its timeout.
func (x *exchange) start(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	x.timer = time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	whole := x.timer
	if x.timeout > 0 {
		whole = time.AfterFunc(x.timeout, func() { cancel(errTooLong) })
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { x.dialled.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { x.connected.Store(true) },
	})
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	return ctx, func() {
		x.timer.Stop()
		whole.Stop()
		cancel(nil)
	}
}

// unreached reports whether the request certainly was not sent: a connection was requested and not
// established.
func (x *exchange) unreached() bool { return x.dialled.Load() && !x.connected.Load() }

// wire is the transport below the client library. The library omits a temperature of 0, refuses
// parameters by the name of a model, loses the headers of failed streams, and reads bodies without
// a limit.
type wire struct{ next http.RoundTripper }

// wireClient returns a copy of c, or a new client, that uses wire.
func wireClient(next http.RoundTripper) *http.Client {
	if next == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 32  // all workers connect to one host
		t.DisableCompression = true // Decompressing reads them, within its bounds
		next = httpclient.Decompressing(t, true)
	}
	return &http.Client{Transport: wire{next}}
}

// RoundTrip sends the request with the fields of its exchange. Any status other than 2xx is
// errRefused, with the details in the exchange. This includes redirects: following one could send
// the prompt to another host.
func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	x := req.Context().Value(exchangeKey{}).(*exchange)
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	if body, err = withFields(body, x.fields); err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.ContentLength = int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()

	x.sent = true
	res, err := w.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.status, x.header = res.StatusCode, res.Header
	res.Body = &answer{exchange: x, body: res.Body}
	if res.StatusCode/100 != 2 {
		x.refusal, _ = io.ReadAll(io.LimitReader(res.Body, maxRefusalBytes))
		res.Body.Close()
		return nil, errRefused
	}
	if x.keepBody || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return whole(res, x)
	}
	res.Body = intake.NewReader(req.Context(), res.Body, intake.Largest)
	return res, nil
}

// whole reads the body of an answer that is not a stream, before the library decodes it, because
// decoding many small values takes many times their length. An error that the answer states is
// returned.
func whole(res *http.Response, x *exchange) (*http.Response, error) {
	body, err := httpclient.ReadJSON(res, maxAnswerBytes)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	if stated, ok := errorIn(body); ok {
		return nil, stated
	}
	if x.keepBody {
		x.body, body = body, []byte("{}")
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// withFields returns a JSON object with further fields.
func withFields(body []byte, more map[string]any) ([]byte, error) {
	if len(more) == 0 {
		return body, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	for name, value := range more {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = encoded
	}
	return json.Marshal(fields)
}

// answer is a response body with a size limit. It restarts the silence timer with each piece and
// records a broken connection.
type answer struct {
	exchange *exchange
	body     io.ReadCloser
	n        int
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		a.exchange.timer.Reset(maxSilence)
	}
	if a.n += n; a.n > maxAnswerBytes {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxAnswerBytes)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, httpclient.ErrRatio) {
		a.exchange.readErr = err
	}
	return n, err
}

func (a *answer) Close() error { return a.body.Close() }
