package conformance

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestTokensAreHidden: a daemon that sends credentials back, in headers, bodies
// and streams, whole or where a text is cut, gets none into the report.
func TestTokensAreHidden(t *testing.T) {
	tokens := []string{"evk_all/0123456789abcdefgh", "evk_reader-0123456789abcdefgh", "evk_other+0123456789\"abcdefgh"}
	for name, pad := range map[string]int{"whole": 0, "cut": 165, "nearly all cut": 180} {
		url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/brains" || isConfirmed(r) {
				w.WriteHeader(http.StatusCreated)
				return
			}
			said := r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "text/event-stream; x="+said)
			w.Header().Set("Allow", said)
			w.Header().Set("Cache-Control", said)
			if !strings.HasSuffix(r.URL.Path, "/ask") {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = w.Write([]byte("data: " + strings.Repeat("x", pad) + said + "\n\n"))
			_, _ = w.Write([]byte("event: " + said + "\ndata: " + string(encode(object{"code": said, "message": strings.Repeat("x", pad) + said})) + "\n\n"))
		}), func() {})
		r := run(t, Options{
			Endpoint: url, Token: tokens[0], ReadOnlyToken: tokens[1], OtherTenantToken: tokens[2],
			Only: []string{"headers-*", "auth", "ask-*", "errors-*", "documents-read-*", "documents-head-*"},
		})
		data, err := json.Marshal(r.Results)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"evk_all/", "evk_read", "evk_othe"} {
			if i := strings.Index(string(data), secret); i >= 0 {
				t.Errorf("%s: %q is in the report: %s", name, secret, data[max(0, i-200):min(len(data), i+100)])
			}
		}
		if pad < 180 && !strings.Contains(string(data), "[token]") {
			t.Errorf("%s: nothing was hidden: the daemon's words are not shown", name)
		}
	}
}

func TestUnusableHidesTokens(t *testing.T) {
	url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad header "+r.Header.Get("Authorization"), http.StatusBadRequest)
	}), func() {})
	_, err := Run(t.Context(), Options{Endpoint: url, Token: "tok-1"})
	if err == nil || strings.Contains(err.Error(), "tok-1") || !strings.Contains(err.Error(), "Bearer [token]") {
		t.Errorf("got %v", err)
	}
}
