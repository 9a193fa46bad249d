package mapping

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/harness/target"
)

// openWeb opens a service over HTTP.
func openWeb(t *testing.T, mapping string, answer http.HandlerFunc) *Service {
	t.Helper()
	web := httptest.NewServer(answer)
	t.Cleanup(web.Close)
	s, err := Open(t.Context(), Config{Mapping: parsed(t, mapping), URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestReplyInOtherEncoding checks that characters of a reply are not replaced without a word: a
// text with others would count as missed.
func TestReplyInOtherEncoding(t *testing.T) {
	for _, reply := range []string{"{items: '$[*]', text: $}", "{format: text, pattern: '(?P<text>caf.*)'}"} {
		s := openWeb(t, "name: x\ntransport: http\nsearch: {path: /find, body: {q: '{query}'}, reply: "+reply+"}\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=iso-8859-1")
			_, _ = w.Write([]byte("[\"caf\xe9\"]"))
		})
		_, err := s.Store("").Search(t.Context(), "b", "coffee", 3)
		f, ok := target.AsFailure(err)
		if !ok || f.Kind != result.KindProtocol || f.Retryable() || !strings.Contains(f.Message, `not in UTF-8; its Content-Type is "application/json; charset=iso-8859-1"`) {
			t.Errorf("%s: got %v", reply, err)
		}
	}
}
