package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
	"evalctl/internal/intake"
	"evalctl/internal/retry"
	"evalctl/internal/sse"
	"evalctl/internal/verbatim"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "MCP-Protocol-Version"
)

// httpTransport is streamable HTTP: each message is a POST, whose response is one message or a
// stream of them. Unlike the SDK's, it sends a call again only if the server has ended the session,
// and a call whose stream ends early fails at once.
type httpTransport struct {
	url, token string
	client     *http.Client
	own        *http.Transport // nil with Options.HTTPClient

	incoming chan jsonrpc.Message
	open     context.Context // ends when the connection is closed
	stop     context.CancelFunc
	reading  sync.WaitGroup

	renewing sync.Mutex
	renewed  func() // nil for none

	mu      sync.Mutex
	session string
	version string             // that initialize has agreed on
	opening []*jsonrpc.Request // the messages that began the session
	tools   headerTools
}

func newHTTPTransport(target string, opts Options) (*httpTransport, error) {
	base, err := httpclient.ParseBaseURL(target)
	if err != nil {
		return nil, fmt.Errorf("%w, or stdio:COMMAND", err)
	}
	t := &httpTransport{
		url: base, token: opts.Token, client: &http.Client{}, renewed: opts.Renewed,
		incoming: make(chan jsonrpc.Message),
	}
	t.open, t.stop = context.WithCancel(context.Background())
	if opts.HTTPClient != nil {
		*t.client = *opts.HTTPClient
		t.client.Timeout = 0 // would end streams
	} else {
		t.own = http.DefaultTransport.(*http.Transport).Clone()
		t.own.MaxIdleConnsPerHost = 32
		t.own.DisableCompression = true // Decompressing reads them, within its bounds
		t.client.Transport = httpclient.Decompressing(t.own, true)
	}
	t.client.CheckRedirect = httpclient.NoRedirect
	return t, nil
}

// Connect implements mcp.Transport.
func (t *httpTransport) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// SessionID implements mcp.Connection.
func (t *httpTransport) SessionID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session
}

// Close implements mcp.Connection.
func (t *httpTransport) Close() error {
	t.stop()
	return nil
}

// close ends the session of a server that has them, and waits for open responses.
func (t *httpTransport) close() error {
	t.stop()
	t.reading.Wait()
	if t.SessionID() != "" {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		if req, err := t.request(ctx, http.MethodDelete, nil, nil); err == nil {
			if res, err := t.client.Do(req); err == nil {
				res.Body.Close() // a server need not support it
			}
		}
	}
	if t.own != nil {
		t.own.CloseIdleConnections()
	}
	return nil
}

// Read implements mcp.Connection.
func (t *httpTransport) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-t.incoming:
		return msg, nil
	case <-t.open.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// request returns a request with the headers of a message, nil for one without.
func (t *httpTransport) request(
	ctx context.Context, method string, msg jsonrpc.Message, body []byte,
) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	httpclient.Identify(req, "evalctl-mcp", t.token)
	req.Header.Set("Content-Type", protocol.TypeJSON)
	req.Header.Set("Accept", protocol.TypeJSON+", "+protocol.TypeEvents)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != "" {
		req.Header.Set(sessionHeader, t.session)
	}
	if t.version != "" {
		req.Header.Set(versionHeader, t.version)
	}
	if call, ok := msg.(*jsonrpc.Request); ok {
		t.tools.mirror(req.Header, call)
	}
	return req, nil
}

// Write implements mcp.Connection. It does not wait for the response to a call, whose failure is
// delivered as its reply. When its context ends, a call is cancelled as in cancelWith.
func (t *httpTransport) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	data = verbatim.Outgoing(data)
	call, ok := msg.(*jsonrpc.Request)
	if ok && call.Method == methodCancelled {
		return nil
	}
	if ok && (call.Method == methodInitialize || call.Method == methodInitialized) {
		t.mu.Lock()
		t.opening = append(t.opening, call)
		t.mu.Unlock()
	}
	if !ok || !call.IsCall() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.open, cancel)()
		res, err := t.post(ctx, msg, data)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	t.reading.Go(func() {
		ctx, end := t.cancelWith(ctx, call)
		defer end()
		if err := t.call(ctx, call, data); err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok {
				e = &Error{Code: CodeConnectionClosed, Message: err.Error()}
			}
			t.deliver(abort(call.ID, *e))
		}
	})
	return nil
}

func (t *httpTransport) send(ctx context.Context, msg jsonrpc.Message, data []byte) (*http.Response, error) {
	req, err := t.request(ctx, http.MethodPost, msg, data)
	if err != nil {
		return nil, err
	}
	res, err := t.client.Do(req)
	if err != nil {
		return nil, httpclient.Cause(ctx, err)
	}
	return res, nil
}

// post sends a message. A response outside 2xx is an error.
func (t *httpTransport) post(ctx context.Context, msg jsonrpc.Message, data []byte) (*http.Response, error) {
	res, err := t.send(ctx, msg, data)
	if err == nil && res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, statusError(res, beginningOf(res))
	}
	return res, err
}

// call sends a call and delivers its reply. The body of a response outside 2xx is the reply if it
// has the id of the call. If the server has ended the session, the call, which it has not
// executed, is sent again in another session.
func (t *httpTransport) call(ctx context.Context, call *jsonrpc.Request, data []byte) error {
	session := t.SessionID()
	res, err := t.send(ctx, call, data)
	for again := session != ""; ; again = false {
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode/100 == 2 {
			return t.receive(call, res)
		}
		body := beginningOf(res)
		reply := errorReply(body, call)
		if again && res.StatusCode == http.StatusNotFound && !isAboutCall(reply) && t.renew(ctx, session) == nil {
			res, err = t.send(ctx, call, data)
			continue
		}
		if reply == nil {
			return statusError(res, body)
		}
		t.deliver(reply)
		return nil
	}
}

// errorReply returns the error with which a body answers a call, nil if it is something else.
func errorReply(body []byte, call *jsonrpc.Request) *jsonrpc.Response {
	msg, err := jsonrpc.DecodeMessage(body)
	if reply, ok := msg.(*jsonrpc.Response); err == nil && ok && reply.ID == call.ID && reply.Error != nil {
		return reply
	}
	return nil
}

// isAboutCall reports whether a reply rejects the call for its own sake, and not its session.
func isAboutCall(reply *jsonrpc.Response) bool {
	if reply == nil {
		return false
	}
	rpc, ok := errors.AsType[*jsonrpc.Error](reply.Error)
	return ok && (rpc.Code == jsonrpc.CodeMethodNotFound || rpc.Code == jsonrpc.CodeInvalidParams)
}

// beginningOf returns the beginning of a body, as far as it has arrived.
func beginningOf(res *http.Response) []byte {
	data, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	return data
}

// deliver passes a message on to Read.
func (t *httpTransport) deliver(msg jsonrpc.Message) {
	select {
	case t.incoming <- msg:
	case <-t.open.Done():
	}
}

// receive delivers the messages of a response. A missing reply to call is an error.
func (t *httpTransport) receive(call *jsonrpc.Request, res *http.Response) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case protocol.TypeJSON:
		data, err := httpclient.ReadBody(res, maxMessage)
		if err != nil {
			return err
		}
		replied, err := t.message(call, res, data)
		if err == nil && !replied {
			err = errors.New("the response is not the reply")
		}
		return err
	case protocol.TypeEvents:
		body := intake.NewReader(res.Request.Context(), io.NopCloser(res.Body), intake.Largest)
		defer body.Close()
		for events := sse.NewReader(body, maxMessage); ; {
			event, err := events.Next()
			if errors.Is(err, io.EOF) {
				return errors.New("the stream ended without a reply")
			}
			if err != nil {
				return err
			}
			if event.Name != "message" || len(event.Data) == 0 {
				continue
			}
			if replied, err := t.message(call, res, event.Data); err != nil || replied {
				return err
			}
		}
	}
	return fmt.Errorf("the response has the type %q", res.Header.Get("Content-Type"))
}

// message delivers one message and reports whether it is the reply to call.
func (t *httpTransport) message(
	call *jsonrpc.Request, res *http.Response, data []byte,
) (bool, error) {
	if err := admit(res.Request.Context(), data); err != nil {
		return false, &Error{Code: CodeRefused, Message: err.Error(), Aborted: true}
	}
	msg, err := jsonrpc.DecodeMessage(verbatim.Incoming(data))
	if err != nil {
		return false, fmt.Errorf("the server sent data that is not an MCP message: %w", err)
	}
	reply, ok := msg.(*jsonrpc.Response)
	replied := ok && reply.ID == call.ID
	if replied && call.Method == methodInitialize && reply.Error == nil {
		var result struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if err := json.Unmarshal(reply.Result, &result); err != nil {
			return false, fmt.Errorf("the reply to initialize: %w", err)
		}
		t.mu.Lock()
		t.version, t.session = result.ProtocolVersion, res.Header.Get(sessionHeader)
		t.mu.Unlock()
	}
	if replied && call.Method == "tools/list" && reply.Error == nil {
		t.tools.learn(reply.Result)
	}
	t.deliver(msg)
	return replied, nil
}

// statusError is a response outside 2xx. Its body is a problem, a JSON-RPC error or anything else.
func statusError(res *http.Response, data []byte) error {
	var body struct {
		protocol.Problem
		Code  string         `json:"code"`
		Error *jsonrpc.Error `json:"error"`
	}
	status := fmt.Sprintf("%d %s", res.StatusCode, http.StatusText(res.StatusCode))
	e := &Error{Code: status, Aborted: true, Status: res.StatusCode}
	e.RetryAfter, _ = retry.After(res.Header.Get("Retry-After"), time.Now())
	if where, ok := httpclient.Redirect(res); ok {
		e.Message = where
		return e
	}
	if json.Unmarshal(data, &body) != nil {
		e.Message = cmp.Or(strings.TrimSpace(string(data)), "no reason given")
		return e
	}
	e.Message = cmp.Or(body.Detail, body.Title, "no reason given")
	switch {
	case body.Error != nil:
		e.Code, e.Message = fmt.Sprint(body.Error.Code), status+": "+body.Error.Message
	case body.Code != "":
		e.Code, e.Message = body.Code, status+": "+e.Message
	}
	return e
}
