package mcpserver_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"go.uber.org/goleak"

	"evalctl/daemon"
	"evalctl/daemon/client"
	"evalctl/daemon/mcpclient"
	"evalctl/daemon/mcpserver"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
)

// serverEnv is the URL of the daemon for which the test binary is the command of a server on stdio.
const serverEnv = "MCPSERVER_TEST_DAEMON"

func TestMain(m *testing.M) {
	if url := os.Getenv(serverEnv); url != "" {
		if err := serveStdio(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	longtest.TempInMemory()
	goleak.VerifyTestMain(m)
}

func serveStdio(url string) error {
	c, err := client.New(url, nil)
	if err != nil {
		return err
	}
	files, err := mcpserver.OpenFiles([]string{os.TempDir()})
	if err != nil {
		return err
	}
	s, err := mcpserver.New(mcpserver.Config{
		Client: c, DefaultBrain: os.Getenv("SVC_MCP_DEFAULT_BRAIN"), Version: "test", Files: files,
	})
	if err != nil {
		return err
	}
	return s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
}

// startDaemon serves a daemon over HTTP. It returns its URL, and a function that stops it.
func startDaemon(t testing.TB, cfg daemon.Config) (url string, stop func()) {
	t.Helper()
	if cfg.Reader == nil {
		cfg.Reader, cfg.ReaderModel = llm.NewFake(), llm.FakeModel
	}
	d, err := daemon.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, ln) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-served; err != nil {
			t.Errorf("daemon: %v", err)
		}
	}
	t.Cleanup(stop)
	return "http://" + ln.Addr().String(), stop
}

// stub serves a daemon that is a handler of the test.
func stub(t testing.TB, handler http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	return srv.URL
}

// transports are the ways to a server of the tools, by the URL of the daemon.
var transports = map[string]func(t testing.TB, daemon string) (target string, opts mcpclient.Options){
	"stdio": func(t testing.TB, daemon string) (string, mcpclient.Options) {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return "stdio:'" + exe + "'", mcpclient.Options{Env: []string{serverEnv + "=" + daemon}, Stderr: os.Stderr}
	},
	"http": func(_ testing.TB, daemon string) (string, mcpclient.Options) {
		return daemon + "/mcp", mcpclient.Options{}
	},
}

func connect(t testing.TB, transport, daemon string) *mcpclient.Client {
	t.Helper()
	target, opts := transports[transport](t, daemon)
	c, err := mcpclient.Connect(t.Context(), target, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close %s: %v", transport, err)
		}
	})
	return c
}

// call calls a tool, which must give a result or a failure.
func call(t testing.TB, c *mcpclient.Client, tool string, args any) mcpclient.Result {
	t.Helper()
	r, err := c.Call(t.Context(), tool, args, nil)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

type object = map[string]any

func newClient(t testing.TB, url string) *client.Client {
	t.Helper()
	c, err := client.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type docsPage = client.DocumentPage
