package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tokens of a daemon with keys.
const (
	adminToken  = "evk_admin"
	readerToken = "evk_reader"
	otherToken  = "evk_other"
)

func keys(t testing.TB) *httpapi.Keys {
	t.Helper()
	text := "keys:\n"
	for _, k := range [][]string{{"admin", "acme", adminToken}, {"reader", "acme", readerToken}, {"admin", "globex", otherToken}} {
		text += fmt.Sprintf("- {name: %s-%s, tenant: %s, sha256: %s, brains: ['*'], roles: [%s]}\n", k[0], k[1], k[1], httpapi.HashToken(k[2]), k[0])
	}
	parsed, err := httpapi.ParseKeys("keys", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// withKeys are the options of a run against a daemon with keys.
func authOptions(url string) Options {
	return Options{
		Endpoint: url, Token: adminToken, ReadOnlyToken: readerToken, OtherTenantToken: otherToken,
		Agent: "conformance test", Timeout: time.Minute, // of a machine that is busy
	}
}

// serve runs the reference daemon behind a wrapper on a real socket. An empty
// home keeps everything in memory, nil keys let everybody in.
func serve(t testing.TB, home string, k *httpapi.Keys, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	return serveConfig(t, daemon.Config{Home: home, Options: httpapi.Options{Keys: k}}, wrap)
}

// serveConfig is serve with more to say. The reader is always the fake one.
func serveConfig(t testing.TB, c daemon.Config, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	c.Reader, c.ReaderModel, c.Version = llm.NewFake(), llm.FakeModel, "test"
	d, err := daemon.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return serveHandler(t, wrap(d.Handler()), func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// listen serves a handler until the test ends.
func serveHandler(t testing.TB, h http.Handler, closed func()) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections() // streams would not end
		srv.Close()
		closed()
	})
	return srv.URL
}

func unbroken(h http.Handler) http.Handler { return h }

func run(t testing.TB, o Options) Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
