package mapping

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"

	"evalctl/internal/httpclient"
)

// Headers are request headers for a service, by name.
type Headers map[string]*template

// ParseHeaders parses headers in the form "Name: value". Secrets are {env:VARIABLE}.
func ParseHeaders(lines []string) (Headers, error) {
	h := Headers{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || !httpguts.ValidHeaderFieldName(name) {
			return nil, fmt.Errorf("%q is not a header, such as 'Authorization: Bearer {env:API_KEY}'", name)
		}
		t, err := compileText(strings.TrimSpace(value), []string{"env:"})
		if err == nil {
			err = checkSecret(name, t)
		}
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		h[name] = t
	}
	return h, nil
}

// secretHeader matches headers whose values are secrets.
var secretHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(proxy-)?authorization$|^cookie$|api-?key|token|secret`)
})

// checkSecret rejects a header with a literal secret, which would be stored in a file.
func checkSecret(name string, t *template) error {
	if secretHeader().MatchString(name) && len(t.secrets()) == 0 {
		return fmt.Errorf("%s has a secret, which does not belong in a file that is shared: set it in the environment, "+
			"and write {env:VARIABLE}", name)
	}
	return nil
}

// variables returns the names of the variables named in headers.
func (h Headers) variables() (names []string) {
	for _, header := range h {
		names = append(names, header.secrets()...)
	}
	return names
}

// sources returns the headers as written in a mapping file.
func (h Headers) sources() map[string]string {
	out := map[string]string{}
	for name, t := range h {
		out[name] = t.source
	}
	return out
}

// set sets the headers in a request.
func (h Headers) set(req *http.Request, values map[string]any, env func(string) string) {
	for name, t := range h {
		all := map[string]any{}
		maps.Copy(all, values)
		for _, secret := range t.secrets() {
			all["env:"+secret] = env(secret)
		}
		req.Header.Set(name, strings.NewReplacer("\r", " ", "\n", " ").Replace(t.text(all)))
	}
}

// client returns an HTTP client for an MCP server and its transport. Both are nil without headers.
func (h Headers) client(env func(string) string) (*http.Client, *http.Transport) {
	if len(h) == 0 {
		return nil, nil
	}
	t := newTransport()
	return &http.Client{CheckRedirect: httpclient.NoRedirect, Transport: withHeaders{h, env, httpclient.Decompressing(t, true)}}, t
}

// withHeaders adds headers to all requests.
type withHeaders struct {
	headers Headers
	env     func(string) string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	h.headers.set(req, nil, h.env)
	return h.next.RoundTrip(req)
}

// checkSecrets rejects secrets in the file.
func (f *file) checkSecrets(h Headers) error {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if err := checkSecret(name, h[name]); err != nil {
			return f.errorf(h[name].at, "%w", err)
		}
	}
	return nil
}
