package httpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"evalctl/internal/httpclient"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, " ", r.Header.Get("Authorization"))
	}))
	defer server.Close()

	base, err := httpclient.ParseBaseURL(server.URL + "/")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{CheckRedirect: httpclient.NoRedirect}
	ctx := context.Background()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	httpclient.Identify(req, "example/1", "my-token")
	res, err := client.Do(req)
	if err != nil {
		fmt.Println(httpclient.Cause(ctx, err))
		return
	}
	defer res.Body.Close()
	body, err := httpclient.ReadBody(res, 1<<20)
	fmt.Println(string(body), err)
	// Output: /healthz Bearer my-token <nil>
}

func TestParseBaseURL(t *testing.T) {
	for given, want := range map[string]string{
		"http://127.0.0.1:8787":    "http://127.0.0.1:8787",
		"https://host/memory/v2//": "https://host/memory/v2",
		"http://[::1]:80/":         "http://[::1]:80",
	} {
		if got, err := httpclient.ParseBaseURL(given); got != want || err != nil {
			t.Errorf("%s: got %q, %v", given, got, err)
		}
	}
	for given, says := range map[string]string{
		"":                        `"" must be an http or https URL with a host, such as`,
		"127.0.0.1:8787":          `"127.0.0.1:8787" cannot be parsed: give a URL such as`,
		"localhost:8787":          `"localhost:8787" must be an http or https URL`,
		"ftp://host":              `"ftp://host" must be an http or https URL`,
		"http://":                 `"http://" must be an http or https URL`,
		"http://u:sekret@host":    "(not shown: it may contain credentials) must not contain a user",
		"http://sekret@host":      "(not shown: it may contain credentials) must not contain a user",
		"http://u:sekret@host:x/": "(not shown: it may contain credentials) cannot be parsed",
		"http://host/%zzsekret":   "(not shown: it may contain credentials) cannot be parsed",
		"u:sekret@host":           "(not shown: it may contain credentials) must be an http or https URL",
		"http://host/?sekret":     "(not shown: it may contain credentials) must end with its path",
		"http://host?":            "(not shown: it may contain credentials) must end with its path",
		"http://host/#sekret":     "(not shown: it may contain credentials) must end with its path",
		"http://host/#":           "(not shown: it may contain credentials) must end with its path",
	} {
		got, err := httpclient.ParseBaseURL(given)
		if err == nil || !strings.HasPrefix(err.Error(), says) || got != "" {
			t.Errorf("%s: got %q, %v", given, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "sekret") {
			t.Errorf("%s: the error contains the secret: %v", given, err)
		}
	}
}

func TestIdentify(t *testing.T) {
	req := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	httpclient.Identify(req, "agent/1", "")
	if auth, ok := req.Header["Authorization"]; ok || req.UserAgent() != "agent/1" {
		t.Errorf("agent %q, authorization %q", req.UserAgent(), auth)
	}
}

func TestNoRedirect(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	defer server.Close()
	client := &http.Client{CheckRedirect: httpclient.NoRedirect}
	res, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusTemporaryRedirect || res.Request.URL.Path != "" {
		t.Errorf("%d from %s", res.StatusCode, res.Request.URL)
	}
}

func TestReadBody(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		body   io.Reader
		length int64
		limit  int64
		want   string
		err    error
	}{
		"within":               {strings.NewReader("abc"), 3, 4, "abc", nil},
		"at the limit":         {strings.NewReader("abc"), 3, 3, "abc", nil},
		"above":                {strings.NewReader("abcd"), 4, 3, "", httpclient.ErrTooLarge},
		"above, length absent": {strings.NewReader("abcd"), -1, 3, "", httpclient.ErrTooLarge},
		"no limit":             {strings.NewReader("abcd"), -1, 0, "abcd", nil},
		"huge length":          {strings.NewReader("abcd"), 1 << 60, 0, "abcd", nil},
		"empty":                {strings.NewReader(""), 0, 3, "", nil},
		"broken":               {iotest.ErrReader(broken), -1, 3, "", broken},
	} {
		res := &http.Response{Body: io.NopCloser(tt.body), ContentLength: tt.length}
		got, err := httpclient.ReadBody(res, tt.limit)
		if string(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestCause(t *testing.T) {
	late := errors.New("the question's time is over")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	failure := errors.New("connection refused")
	_, wrapped := (&http.Client{Transport: failing{failure}}).Get("http://host/?secret")
	for name, tt := range map[string]struct {
		ctx  context.Context
		err  error
		want error
	}{
		"ended context": {ended, wrapped, late},
		"client error":  {t.Context(), wrapped, failure},
		"other error":   {t.Context(), io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
	} {
		if got := httpclient.Cause(tt.ctx, tt.err); !errors.Is(got, tt.want) || got.Error() != tt.want.Error() {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
