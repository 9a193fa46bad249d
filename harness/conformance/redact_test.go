package conformance

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The report contains no token, even if the daemon returns tokens in headers, bodies and streams,
// and even where a text is cut.
func TestTokensAreRedacted(t *testing.T) {
	tokens := []string{"evk_all/0123456789abcdefgh", "evk_reader-0123456789abcdefgh", "evk_other+0123456789\"abcdefgh"}
	for name, pad := range map[string]int{"whole": 0, "cut": 165, "nearly all cut": 180} {
		url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/brains" || route("DELETE ")(r) {
				w.WriteHeader(http.StatusCreated)
				return
			}
			authorization := r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "text/event-stream; x="+authorization)
			w.Header().Set("Allow", authorization)
			w.Header().Set("Cache-Control", authorization)
			if !strings.HasSuffix(r.URL.Path, "/ask") {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = w.Write([]byte("data: " + strings.Repeat("x", pad) + authorization + "\n\n"))
			_, _ = w.Write([]byte("event: " + authorization + "\ndata: " + string(encode(object{"code": authorization,
				"message": strings.Repeat("x", pad) + authorization})) + "\n\n"))
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
			t.Errorf("%s: nothing was redacted: the report does not contain the responses", name)
		}
	}
}

func TestErrUnusableHasNoToken(t *testing.T) {
	url := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad header "+r.Header.Get("Authorization"), http.StatusBadRequest)
	}), func() {})
	_, err := Run(t.Context(), Options{Endpoint: url, Token: "tok-1", Timeout: timeout})
	if err == nil || strings.Contains(err.Error(), "tok-1") || !strings.Contains(err.Error(), "Bearer [token]") {
		t.Errorf("got %v", err)
	}
}
