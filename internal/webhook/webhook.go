// Package webhook delivers JSON to a URL whose path or query may be a secret, as with Slack and
// Mattermost. No error and no text of the package has more of a URL than its scheme and host.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/retry"
)

const (
	// timeout limits one attempt, pause is the time before the second.
	timeout = 5 * time.Second
	pause   = 500 * time.Millisecond
	// maxReply is how much of a response is read, in bytes, so that its connection ends in order.
	maxReply = 64 << 10
)

// Hook is where JSON is delivered.
type Hook struct {
	url     url.URL
	timeout time.Duration
}

// Parse returns the hook with a URL, which must be http or https and have a host.
func Parse(text string) (*Hook, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL, which is not shown because it may contain a token, must begin with http:// or https:// and have a host")
	}
	return &Hook{*u, timeout}, nil
}

// String returns the scheme and the host of the URL.
func (h *Hook) String() string { return fmt.Sprintf("%s://%s/…", h.url.Scheme, h.url.Host) }

// Post delivers a JSON text. It tries a second time if the server cannot be reached or answers with a
// status of 500 or above. A redirect is an error: its target would get the text, and perhaps the token.
func (h *Hook) Post(ctx context.Context, body []byte) error {
	again, err := h.once(ctx, body)
	if again {
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
		if _, err = h.once(ctx, body); err != nil {
			err = fmt.Errorf("tried twice: %w", err)
		}
	}
	return err
}

// once makes one attempt. again is set if another one may succeed.
func (h *Hook) once(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("no response within %v", h.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url.String(), bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the URL cannot be used")
	}
	httpclient.Identify(req, "evalctl", "")
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{CheckRedirect: httpclient.NoRedirect}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return ctx.Err() == nil, httpclient.Cause(ctx, err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply))
	switch {
	case res.StatusCode < 300:
		return false, nil
	case res.StatusCode < 400:
		return false, fmt.Errorf("the server redirects (%d), which is not followed; give the URL it redirects to", res.StatusCode)
	}
	return res.StatusCode >= 500, fmt.Errorf("the server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode))
}
