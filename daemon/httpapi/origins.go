package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// exposed are the headers of responses that pages of allowed origins may read.
const exposed = "Allow, Content-Length, Document-Problem, Location, Mcp-Session-Id, Retry-After, WWW-Authenticate, X-Request-Id"

// preflightTime is how long a browser may keep the answer to a preflight request, in seconds.
const preflightTime = "600"

// ParseOrigin returns an origin as browsers send it. Only exact origins are allowed: no wildcard,
// and not null, the origin of every sandboxed page.
func ParseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.ToLower(text))
	switch {
	case text == "*" || strings.EqualFold(text, "null"):
		return "", fmt.Errorf("origin %q: name each origin, such as https://app.example.com", text)
	case err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host, "*"):
		return "", fmt.Errorf("origin %q: must be a scheme and a host, such as https://app.example.com or http://localhost:3000", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery || u.Path != "" && u.Path != "/":
		return "", fmt.Errorf("origin %q: must end after the host and the port", text)
	}
	host := u.Host
	if port := u.Port(); u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, nil
}

// answerOrigin lets the pages of allowed origins use the API: it sets the headers of CORS, and
// answers preflight requests, which have no token. It reports whether the request has been
// answered. Pages of other origins get no such headers, so their browser keeps the response from
// them.
func (a *API) answerOrigin(w http.ResponseWriter, r *http.Request) bool {
	if len(a.origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !a.origins[origin] {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || method == "" {
		h.Set("Access-Control-Expose-Headers", exposed)
		return false
	}
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE")
	// Some headers of MCP have the names of arguments, so no fixed list could be complete.
	if headers := r.Header.Get("Access-Control-Request-Headers"); headers != "" {
		h.Set("Access-Control-Allow-Headers", headers)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", preflightTime)
	w.WriteHeader(http.StatusNoContent)
	return true
}
