package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"evalctl/daemon"
	"evalctl/daemon/client"
	"evalctl/daemon/mcpserver"
	"evalctl/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startDaemon serves a daemon over HTTP and returns its URL.
func startDaemon(t testing.TB, cfg daemon.Config) string {
	t.Helper()
	if cfg.Reader == nil {
		cfg.Reader, cfg.ReaderModel = llm.NewFake(), llm.FakeModel
	}
	d, err := daemon.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return startAPI(t, d.Handler(), func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

func startAPI(t testing.TB, api http.Handler, closed func()) string {
	t.Helper()
	srv := httptest.NewServer(api)
	t.Cleanup(func() {
		srv.Close()
		closed()
	})
	return srv.URL
}

// tools returns a server of the tools of the daemon at url.
func tools(t testing.TB, url string, cfg mcpserver.Config) *mcpserver.Server {
	t.Helper()
	c, err := client.New(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cfg.Client = c
	s, err := mcpserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connect serves a client on pipes.
func connect(t testing.TB, s *mcpserver.Server) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := s.ServeStdio(context.Background(), fromClient, toClient)
		toClient.Close()
		served <- err
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := <-served; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return session
}

// call calls a tool and returns its text and its structured content as JSON.
func call(t testing.TB, s *mcp.ClientSession, tool string, args any) (text, structured string, failed bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text, string(data), res.IsError
}
