//go:build unix

package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
	"evalctl/internal/porttest"
)

// slowModel says one word, and the rest once it is released.
type slowModel struct {
	llm.Provider
	release chan struct{}
}

func (m slowModel) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := r.Emit("Oslo"); err != nil {
		return llm.Response{}, err
	}
	select {
	case <-m.release:
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
	return llm.Response{Text: "Oslo."}, r.Emit(".")
}

// nginx starts the proxy with its defaults in front of a daemon and returns its URL.
func nginx(t *testing.T, daemonURL string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nginx")
	}
	if err != nil {
		if os.Getenv("EVALCTL_TEST_NGINX") != "" {
			t.Fatal("EVALCTL_TEST_NGINX is set, and nginx is not there: scripts/nginx/install.sh installs it")
		}
		t.Skip("nginx is not there: scripts/nginx/install.sh installs it")
	}
	dir, port := t.TempDir(), porttest.Free(t, 1)
	user := ""
	if os.Geteuid() == 0 { // the workers of root run as another user, who may not read the folder
		user = "user root; "
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	conf := user + `daemon off; pid nginx.pid; error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {
    listen ` + address + `;
    location / { proxy_pass ` + daemonURL + `; proxy_set_header Host $http_host; }
  }
}
`
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var log awaittest.Log
	cmd := exec.Command(path, "-p", dir, "-c", file)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx: %s", log.String())
		}
	})
	awaittest.Until(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + address
}

// TestStreamsBehindNginx: a proxy with its defaults passes on each event of a stream as it comes.
func TestStreamsBehindNginx(t *testing.T) {
	t.Parallel()
	model := slowModel{release: make(chan struct{}, 2)}
	d := serve(t, daemon.Config{Reader: model, ReaderModel: "slow"})
	d.expect(t, 201, "POST", "/v1/brains", "application/json", `{"name":"eval"}`)
	d.expect(t, 204, "PUT", "/v1/brains/eval/documents?path=a.md", octets, "Ana lives in Oslo.")
	url := nginx(t, d.url)
	for name, tt := range map[string]struct{ method, path, body, first, last string }{
		"events": {"GET", "/v1/brains/eval/events", "", "event: ready", ""},
		"ask":    {"POST", "/v1/brains/eval/ask", `{"question":"Where does Ana live?"}`, `{"delta":"Oslo"}`, "event: done"},
		"mcp": {"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_ask","_meta":{"progressToken":"t"},` +
			`"arguments":{"query":"Where does Ana live?"}}}`, `"message":"Oslo"`, `"result"`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, tt.method, url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			var got awaittest.Log
			done := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					_, err = io.Copy(&got, res.Body)
					res.Body.Close()
				}
				done <- err
			}()
			awaittest.Until(t, "the first event: "+tt.first, func() bool { return strings.Contains(got.String(), tt.first) })
			if tt.last == "" {
				return
			}
			model.release <- struct{}{}
			if err := awaittest.Receive(t, "the end of the stream", done); err != nil || !strings.Contains(got.String(), tt.last) {
				t.Errorf("got %s, %v", got.String(), err)
			}
		})
	}
}
