package requirements

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon"
	daemonclient "evalctl/daemon/client"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/mcpserver"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
)

// toolsOf is the variable with the URL of a daemon whose tools a process of this test binary serves
// on stdio.
const toolsOf = "REQUIREMENTS_TEST_DAEMON"

func TestMain(m *testing.M) {
	if url := os.Getenv(toolsOf); url != "" {
		if err := serveTools(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	longtest.Parallel(parallel)
	goleak.VerifyTestMain(m)
}

// parallel is the number of concurrent checks.
const parallel = 4

// token is the token of a daemon with keys.
const token = "evk_admin"

// keys returns the key of the token.
func keys(t *testing.T) *httpapi.Keys {
	t.Helper()
	text := fmt.Sprintf("keys: [{name: admin, tenant: acme, sha256: %s, brains: ['*'], roles: [admin]}]\n", httpapi.HashToken(token))
	parsed, err := httpapi.ParseKeys("keys", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// serve runs a reference daemon on a socket until the test ends. It returns the daemon's URL.
func serve(t *testing.T, c daemon.Config) string {
	t.Helper()
	c.Reader, c.ReaderModel, c.Version = llm.NewFake(), llm.FakeModel, "test"
	d, err := daemon.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	t.Cleanup(func() {
		srv.CloseClientConnections() // ends open streams
		srv.Close()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv.URL
}

// open returns the daemon at an endpoint as a target. The checks wait as long as a busy machine may
// need.
func open(t *testing.T, c Config) *Target {
	t.Helper()
	const patience = 5 * time.Minute
	c.Agent, c.Parallel, c.Timeout, c.Within, c.Slow = "conformance test", parallel, patience, patience, true
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := d.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// serveTools serves the tools of a daemon on stdio.
func serveTools(url string) error {
	api, err := daemonclient.New(url, nil)
	if err != nil {
		return err
	}
	defer api.Close()
	files, err := mcpserver.OpenFiles([]string{os.TempDir()})
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	server, err := mcpserver.New(mcpserver.Config{Client: api, Files: files, Version: "test"})
	if err != nil {
		return err
	}
	return server.ServeStdio(context.Background(), os.Stdin, os.Stdout)
}
