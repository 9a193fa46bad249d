package requirements

import (
	"net/http"
	"strings"
	"testing"
)

// Evidence is cut, printable and without tokens.
func TestEvidence(t *testing.T) {
	const token = "evk_0123456789abcdefgh"
	d, err := Open(Config{Endpoint: "http://127.0.0.1:1", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	r := putOf("a.md", strings.Repeat("é", requestBytes))
	x := d.exchange(r, "b").answered(&response{status: 500, header: http.Header{"Content-Type": {"text/plain"}, "X-Other": {"1"}},
		body: []byte("a\x1b[31m\u202eb\x00" + strings.Repeat("x", responseBytes-12) + token + "\xff")})
	request, response := x.requestText(d.Redact), x.responseText(d.Redact)
	if !strings.HasPrefix(request, "PUT /v1/brains/b/documents?path=a.md\nAuthorization: Bearer [token]\nContent-Type: ") ||
		!strings.HasSuffix(request, "é… (2048 bytes)") || strings.Count(request, "é") != requestBytes/2 {
		t.Errorf("request %q", request)
	}
	if !strings.HasPrefix(response, "HTTP 500 Internal Server Error\nContent-Type: text/plain\n\na\\u001b[31m\\u202eb\\u0000xx") ||
		strings.Contains(response, "evk_") || len(response) > responseBytes+200 || strings.Contains(response, "X-Other") {
		t.Errorf("response %q", response)
	}
}
