package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestParseOrigin(t *testing.T) {
	for text, want := range map[string]string{
		"https://app.example.com": "https://app.example.com", "HTTPS://App.Example.com/": "https://app.example.com",
		"http://localhost:3000": "http://localhost:3000", "https://a.example:443": "https://a.example",
		"http://a.example:80": "http://a.example", "http://a.example:443": "http://a.example:443",
		"http://[::1]:8080": "http://[::1]:8080", "chrome-extension://abcdef": "chrome-extension://abcdef",
		"*": "", "null": "", "": "", "a.example": "", "https://": "", "https://*.example.com": "", "https://a.example/path": "",
		"https://a.example?x": "", "https://a.example#x": "", "https://user@a.example": "", "https://a b": "",
	} {
		if got, err := ParseOrigin(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestOrigins: pages of allowed origins may use the API, with a preflight request and without, and no
// others.
func TestOrigins(t *testing.T) {
	const app, evil = "https://app.example.com", "https://evil.example"
	for name, allowed := range map[string][]string{"none": nil, "app": {app, "http://localhost:3000"}} {
		s := startKeyed(t)
		for _, origin := range allowed {
			s.api.origins[origin] = true
			if err := s.api.crossOrigin.AddTrustedOrigin(origin); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range []struct {
			origin, method, path, body, token string
			preflight                         bool
			status, otherwise                 int // with an allowed origin, and without
		}{
			{app, "OPTIONS", "/v1/brains", "", "", true, 204, 405},
			{app, "OPTIONS", "/mcp", "", "", true, 204, 405},
			{app, "OPTIONS", "/v1/brains", "", "", false, 405, 405},
			{app, "GET", "/v1/brains", "", "reader", false, 200, 200}, // the browser keeps it from the page
			{app, "GET", "/v1/brains", "", "", false, 401, 401},
			{app, "POST", "/v1/brains/eval/search", `{"query":"kettle"}`, "reader", false, 200, 403},
			{app, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "reader", false, 200, 403},
			{evil, "OPTIONS", "/v1/brains", "", "", true, 405, 405},
			{evil, "POST", "/v1/brains/eval/search", `{"query":"kettle"}`, "reader", false, 403, 403},
			{"null", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "reader", false, 403, 403},
			{app + ".evil.example", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "reader", false, 403, 403},
			{"", "GET", "/v1/brains", "", "reader", false, 200, 200},
		} {
			headers := []string{"Content-Type", "application/json", "Origin", r.origin}
			if r.origin == "" {
				headers = headers[:2]
			} else {
				headers = append(headers, "Sec-Fetch-Site", "cross-site")
			}
			if r.token != "" {
				headers = append(headers, as(r.token)...)
			}
			if r.preflight {
				headers = append(headers, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,mcp-param-x",
					"Access-Control-Request-Private-Network", "true")
			}
			resp := s.do(t, r.method, r.path, r.body, headers...)
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			want, readable := r.otherwise, ""
			if len(allowed) > 0 {
				want = r.status
				if r.origin == app {
					readable = app
				}
			}
			h := resp.Header
			if resp.StatusCode != want ||
				h.Get("Access-Control-Allow-Origin") != readable || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: %s %s of %q: got %d %v %s, want %d", name, r.method, r.path, r.origin, resp.StatusCode, h, body, want)
			}
			if varies := strings.Contains(strings.Join(h["Vary"], ","), "Origin"); varies != (len(allowed) > 0) {
				t.Errorf("%s: %s %s: varies %t", name, r.method, r.path, varies)
			}
			if want == http.StatusNoContent && (h.Get("Access-Control-Allow-Headers") != "authorization,mcp-param-x" ||
				!strings.Contains(h.Get("Access-Control-Allow-Methods"), "DELETE") || h.Get("Access-Control-Allow-Private-Network") != "true") {
				t.Errorf("%s: preflight: %v", name, h)
			}
			if readable != "" && want != http.StatusNoContent && h.Get("Access-Control-Expose-Headers") == "" {
				t.Errorf("%s: %s %s exposes no headers", name, r.method, r.path)
			}
		}
	}
}
