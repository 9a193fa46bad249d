package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/internal/httpclient"
	"evalctl/internal/printable"
)

// maxJSON limits a JSON response, in bytes. 10,000 listed documents with the longest paths need
// half of it.
const maxJSON = 64 << 20

// maxPath limits the path of a URL, in bytes. Ids are the daemon's own and may have any form and
// length, but servers and proxies limit the first line of a request, most of them to 8 KiB.
const maxPath = 7 << 10

type request struct {
	method, path string
	query        url.Values
	header       http.Header
	accept       string // "" means JSON
	contentType  string
	body         []byte
	err          error // why it is not sent
}

// json encodes v as the body.
func (r *request) json(v any) {
	if r.err != nil {
		return
	}
	r.contentType = protocol.TypeJSON
	if r.body, r.err = json.Marshal(v); r.err != nil {
		r.err = fmt.Errorf("%s %s: %w", r.method, r.path, r.err)
	}
}

// timeoutError is a request that exceeded Options.Timeout.
type timeoutError time.Duration

func (e timeoutError) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(e)) }
func (e timeoutError) Unwrap() error { return context.DeadlineExceeded }

// call sends a request within Options.Timeout and decodes the JSON object of the response.
func call[T any](ctx context.Context, c *Client, r request) (T, error) {
	data, err := c.fetch(ctx, r, maxJSON)
	return decode[T](ctx, r, data, err)
}

// callModel is call for a request for which the daemon calls a model. Only ctx limits it, because
// models may take any time.
func callModel[T any](ctx context.Context, c *Client, r request) (T, error) {
	data, err := c.read(ctx, r, maxJSON)
	return decode[T](ctx, r, data, err)
}

func decode[T any](ctx context.Context, r request, data []byte, err error) (T, error) {
	var answer T
	if err == nil {
		if err = httpclient.Decodable(ctx, data); err != nil {
			err = transportError(ctx, r, err)
		}
	}
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return answer, fmt.Errorf("%s %s: the response is not the expected JSON: %w",
			r.method, r.path, err)
	}
	return answer, nil
}

// send is call for a response without content.
func (c *Client) send(ctx context.Context, r request) error {
	_, err := c.fetch(ctx, r, maxJSON)
	return err
}

// fetch is call for a response of at most limit bytes; 0 means any number.
func (c *Client) fetch(ctx context.Context, r request, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, timeoutError(c.timeout))
	defer cancel()
	return c.read(ctx, r, limit)
}

// read is fetch without Options.Timeout.
func (c *Client) read(ctx context.Context, r request, limit int64) ([]byte, error) {
	res, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := httpclient.ReadBody(res, limit)
	if err != nil {
		return nil, transportError(ctx, r, err)
	}
	return data, nil
}

// do sends a request. A status outside 2xx is an *Error. The caller must close the body.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	if n := len(r.path); n > maxPath {
		r.path = printable.Short(r.path, 100)
		r.check(invalid("the path of the URL has %d bytes, the limit is %d: an id is too long", n, maxPath))
	}
	if r.err != nil {
		return nil, r.err
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, transportError(ctx, r, err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	httpclient.Identify(req, c.agent, c.token)
	req.Header.Set("Accept", protocol.TypeJSON)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, transportError(ctx, r, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, c.statusError(r, res)
	}
	return res, nil
}

// transportError names the request without its query, which contains users' memories.
func transportError(ctx context.Context, r request, err error) error {
	return fmt.Errorf("%s %s: %w", r.method, r.path, httpclient.Cause(ctx, err))
}
