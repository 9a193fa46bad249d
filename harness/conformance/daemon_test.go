package conformance

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/harness/launch"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(stdioDaemon); url != "" {
		if err := serveStdio(url, os.Getenv(stdioEdit)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "watchdog" {
		_ = launch.Watchdog(os.Stdin, os.Stdout)
		return
	}
	if how := os.Getenv(mortalDaemon); how != "" {
		if err := serveMortal(how, os.Getenv(mortalMarker)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	longtest.Parallel(16) // most mutants keep a check waiting
	longtest.CollectRarely()
	goleak.VerifyTestMain(m)
}

// The tokens of a daemon with keys.
const (
	adminToken  = "evk_admin"
	readerToken = "evk_reader"
	otherToken  = "evk_other"
)

func keys(t testing.TB) *httpapi.Keys {
	t.Helper()
	text := "keys:\n"
	for _, k := range [][]string{
		{"admin", "acme", adminToken}, {"reader", "acme", readerToken}, {"admin", "globex", otherToken},
	} {
		text += fmt.Sprintf("- {name: %s-%s, tenant: %s, sha256: %s, brains: ['*'], roles: [%s]}\n", k[0], k[1], k[1],
			httpapi.HashToken(k[2]), k[0])
	}
	parsed, err := httpapi.ParseKeys("keys", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// authOptions returns the options of a run against a daemon with keys.
func authOptions(url string) Options {
	return Options{
		Endpoint: url, MCP: url + "/mcp", Token: adminToken, ReadOnlyToken: readerToken, OtherTenantToken: otherToken,
		Agent: "conformance test",
	}
}

// serve runs the reference daemon behind a wrapper on a real socket. It keeps everything in memory;
// without keys it needs no token.
func serve(t testing.TB, k *httpapi.Keys, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	return serveConfig(t, daemon.Config{Options: httpapi.Options{Keys: k}}, wrap)
}

// serveConfig is serve with a configuration. The reader is always the fake model.
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

// serveHandler serves a handler until the test ends, and then calls closed.
func serveHandler(t testing.TB, h http.Handler, closed func()) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections() // ends open streams
		srv.Close()
		closed()
	})
	return srv.URL
}

func unbroken(h http.Handler) http.Handler { return h }

// timeout bounds a check that is not meant to time out, on a busy machine too.
const timeout = 5 * time.Minute

// runPatiently is run for what the daemon must do in the end, however long it takes.
func runPatiently(t testing.TB, o Options) Report {
	t.Helper()
	o.within = timeout
	return run(t, o)
}

func run(t testing.TB, o Options) Report {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, timeout)
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
