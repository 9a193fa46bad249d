package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"evalctl/daemon/protocol"
)

// maxJSON bounds a JSON answer: 10,000 listed documents with the longest paths
// need half of it.
const maxJSON = 64 << 20

type request struct {
	method, path string
	query        url.Values
	header       http.Header
	accept       string // "" means JSON
	contentType  string
	body         []byte
}

// json sets the body.
func (r *request) json(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	r.contentType, r.body = protocol.TypeJSON, body
	return nil
}

// timeoutError is a request that took longer than Options.Timeout.
type timeoutError time.Duration

func (e timeoutError) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(e)) }
func (e timeoutError) Unwrap() error { return context.DeadlineExceeded }

// call sends a request under the client's time limit and decodes the JSON
// object it answers with.
func call[T any](ctx context.Context, c *Client, r request) (T, error) {
	var answer T
	data, err := c.fetch(ctx, r, maxJSON)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return answer, fmt.Errorf("%s %s: the answer is not the JSON expected: %w", r.method, r.path, err)
	}
	return answer, nil
}

// send is call for an answer without content.
func (c *Client) send(ctx context.Context, r request) error {
	_, err := c.fetch(ctx, r, maxJSON)
	return err
}

// fetch is call for an answer of bytes, at most limit of them; 0 means any
// number.
func (c *Client) fetch(ctx context.Context, r request, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, timeoutError(c.timeout))
	defer cancel()
	res, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var body io.Reader = res.Body
	if limit > 0 {
		body = io.LimitReader(body, limit+1)
	}
	var data bytes.Buffer
	if n := res.ContentLength; n > 0 && n <= maxJSON { // more is believed when it comes
		data.Grow(int(n) + bytes.MinRead)
	}
	n, err := data.ReadFrom(body)
	if err != nil {
		return nil, transportError(ctx, r, err)
	}
	if limit > 0 && n > limit {
		return nil, fmt.Errorf("%s %s: the answer exceeds %d bytes", r.method, r.path, limit)
	}
	return data.Bytes(), nil
}

// do sends a request. A status outside 2xx is an *Error. The caller closes the
// body.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
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
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", protocol.TypeJSON)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
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

// transportError names the request without its query, which holds what users
// remember.
func transportError(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s %s: %w", r.method, r.path, err)
}
