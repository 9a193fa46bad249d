package target

import (
	"errors"
	"io"
	"net/http"

	"evalctl/internal/redact"
)

// minSecret is the length from which on a token is kept out of what a daemon
// sends. A shorter one is a word, which answers may hold for other reasons.
const minSecret = 8

func newRedactor(token string) *redact.Redactor {
	if len(token) < minSecret {
		return nil
	}
	return redact.New(token)
}

// hidingTransport keeps a token out of all that is read of answers: results,
// journals, errors and what a judge is sent come from there.
type redactingTransport struct {
	*http.Transport
	redactor *redact.Redactor
}

// RoundTrip is http.RoundTripper's.
func (t *redactingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.Transport.RoundTrip(req)
	if err != nil {
		// What a client cannot read as HTTP it quotes.
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
