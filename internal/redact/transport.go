package redact

import (
	"io"
	"net/http"
)

// Transport returns a transport of HTTP whose responses and errors have no secrets.
func (r *Redactor) Transport(t http.RoundTripper) http.RoundTripper {
	return &transport{t, r}
}

type transport struct {
	http.RoundTripper
	redactor *Redactor
}

// CloseIdleConnections closes the idle connections of the wrapped transport. http.Client calls it.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, t.redactor.Error(err) // it quotes a response that is not HTTP
	}
	if t.redactor == nil {
		return res, nil
	}
	res.Status = t.redactor.Text(res.Status)
	for _, values := range res.Header {
		for i, v := range values {
			values[i] = t.redactor.Text(v)
		}
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{t.redactor.Reader(res.Body), res.Body}
	return res, nil
}
