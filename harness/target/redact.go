package target

import (
	"errors"
	"io"
	"net/http"

	"evalctl/internal/redact"
)

// minSecret is the length of the shortest token that is redacted in responses. Answers may contain
// a shorter one for other reasons.
const minSecret = 8

// NewRedactor returns a redactor of a daemon's token. It is nil, which redacts nothing, if the
// token is empty or too short.
func NewRedactor(token string) *redact.Redactor {
	if len(token) < minSecret {
		return nil
	}
	return redact.New(token)
}

// redactingTransport redacts a token in everything that is read from responses, because results,
// journals, errors and the prompts of a judge are made from it.
type redactingTransport struct {
	http.RoundTripper
	redactor *redact.Redactor
}

// CloseIdleConnections closes those of the transport. http.Client calls it.
func (t *redactingTransport) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *redactingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		// The error quotes a response that is not HTTP.
		if text := t.redactor.Text(err.Error()); text != err.Error() {
			err = errors.New(text)
		}
		return nil, err
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
