package extern

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"evalctl/internal/httpclient"
	"evalctl/internal/redact"
)

// service is the transport to a URL. Each request is sent once.
type service struct {
	url      string
	timeout  time.Duration
	client   *http.Client
	inFlight atomic.Int64
}

func newService(url string, timeout time.Duration, secrets *redact.Redactor) *service {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // Decompressing reads them, within its bounds
	return &service{url: url, timeout: timeout, client: &http.Client{
		Transport: secrets.Transport(httpclient.Decompressing(t, true)), CheckRedirect: httpclient.NoRedirect,
	}}
}

func (s *service) hello(ctx context.Context) ([]byte, error) {
	return s.send(ctx, []byte(helloRequest))
}

func (s *service) score(ctx context.Context, _ int64, request []byte) ([]byte, error) {
	reply, err := s.send(ctx, request)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &unscoredError{fmt.Errorf("the scorer gave no verdict: %w", err)}
	}
	return reply, nil
}

// send sends a request. The service has the timeout for it and for each unanswered request before
// it.
func (s *service) send(ctx context.Context, request []byte) ([]byte, error) {
	limit := s.timeout * time.Duration(s.inFlight.Add(1))
	defer s.inFlight.Add(-1)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no reply within %v", limit))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(request))
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, httpclient.Cause(ctx, err)
	}
	defer res.Body.Close()
	body, err := httpclient.ReadBody(res, maxReply)
	if err != nil {
		return nil, httpclient.Cause(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, short(string(body)))
	}
	return body, nil
}

func (s *service) close() error {
	s.client.CloseIdleConnections()
	return nil
}
