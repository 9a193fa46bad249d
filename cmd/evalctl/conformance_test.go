package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

// mortal serves the reference daemon at the address in its first argument, until a client declares
// a body that is too large to be sent. With a second argument chatty it sends more responses than
// requests, and with frail it ends at the first request to change something.
func mortal() {
	d, err := daemon.New(context.Background(), daemon.Config{
		Reader: llm.NewFake(), ReaderModel: llm.FakeModel, Options: httpapi.Options{Version: version().String()},
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := strings.Join(os.Args[2:], " ")
		if r.ContentLength > 1<<30 || kind == "frail" && r.Method != http.MethodGet {
			log.Fatal("panic: out of memory")
		}
		if kind == "chatty" && r.Method == http.MethodHead {
			sayTooMuch(w)
			return
		}
		d.Handler().ServeHTTP(w, r)
	})))
}

// sayTooMuch sends a second response that nobody asked for.
func sayTooMuch(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		log.Fatal(err)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}

// conformanceOf runs evalctl conformance against the reference daemon, whose handler wrap returns.
func conformanceOf(
	ctx context.Context, t *testing.T, wrap func(http.Handler) http.Handler, args ...string,
) (code int, stdout, stderr string) {
	t.Helper()
	d, err := daemon.New(t.Context(), daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel, Options: httpapi.Options{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(wrap(d.Handler()))
	code, stdout, stderr = inProcess(ctx, append([]string{"conformance", "--endpoint", srv.URL, "--concurrency", "1"}, args...)...)
	srv.CloseClientConnections()
	srv.Close()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	return code, stdout, stderr
}

// TestConformanceInterrupted: the finished checks are reported, marked as partial.
func TestConformanceInterrupted(t *testing.T) {
	for format, marks := range map[string][]string{
		"text":     {"PARTIAL: 1 of 2 checks were done", "documents"},
		"json":     {`"planned": 2`, `"partial": true`, `"id": "documents-read-200"`},
		"junit":    {`errors="1"`, `<error type="partial" message="partial: 1 of 2 checks were done`, `name="documents-read-200"`},
		"markdown": {"PARTIAL: `1 of 2 checks were done", "| documents | 1 | 0 | 0 | 0 | 0 |"},
	} {
		for _, file := range []string{"", filepath.Join(t.TempDir(), "report")} {
			ctx, cancel := context.WithCancel(t.Context())
			wrap := func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodHead {
						cancel()
						<-r.Context().Done()
						return
					}
					next.ServeHTTP(w, r)
				})
			}
			args := []string{"--only", "documents-read-200", "--only", "documents-head-200", "--format", format}
			if file != "" {
				args = append(args, "--output", file)
			}
			code, report, stderr := conformanceOf(ctx, t, wrap, args...)
			cancel()
			if file != "" {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Errorf("%s: %v", format, err)
				}
				report = string(data)
			}
			for _, mark := range marks {
				if !strings.Contains(report, mark) {
					t.Errorf("%s: %q is missing:\n%s", format, mark, report)
				}
			}
			if code != exitInterrupted || !strings.Contains(stderr, "1 of 2 checks done") || strings.Contains(report, "documents-head-200") {
				t.Errorf("%s: exit code %d, stderr %s\n%s", format, code, stderr, report)
			}
		}
	}
}

// TestConformanceDaemonDies: the report says during which check.
func TestConformanceDaemonDies(t *testing.T) {
	t.Parallel()
	for format, marks := range map[string][]string{
		"text":     {"the daemon died during documents-head-200: ", "PARTIAL: 2 of 3 checks were done"},
		"json":     {`"after": "documents-head-200"`, `"partial": true`, `"reason": "transport"`},
		"junit":    {"the daemon died during documents-head-200", `failures="0"`, "not judged, no answer: "},
		"markdown": {"PARTIAL: `2 of 3 checks", "the daemon died during documents-head-200", "<summary>Not judged: "},
	} {
		var dead atomic.Bool
		wrap := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					dead.Store(true)
				}
				if dead.Load() {
					panic(http.ErrAbortHandler) // closes the connection
				}
				next.ServeHTTP(w, r)
			})
		}
		code, report, stderr := conformanceOf(t.Context(), t, wrap, "--only", "documents-read-200",
			"--only", "documents-head-200", "--only", "documents-delete-204", "--format", format)
		for _, mark := range marks {
			if !strings.Contains(report, mark) {
				t.Errorf("%s: %q is missing:\n%s", format, mark, report)
			}
		}
		if code != exitDaemon || !strings.Contains(stderr, "2 of 3 checks done: the daemon died") {
			t.Errorf("%s: exit code %d, stderr %s", format, code, stderr)
		}
	}
}

// TestConformanceWithoutTools: a misspelt command of an MCP server must not pass.
func TestConformanceWithoutTools(t *testing.T) {
	same := func(next http.Handler) http.Handler { return next }
	args := []string{"--only", "documents-read-200", "--only", "mcp-tools"}
	code, report, stderr := conformanceOf(t.Context(), t, same, append(args, "--mcp", "stdio:no-such-command-x")...)
	if code != exitDaemon || !strings.Contains(stderr, "no check of the MCP server could be judged: ") ||
		!strings.Contains(stderr, "no-such-command-x") || !strings.Contains(report, "documents") {
		t.Errorf("exit code %d, stderr %s\n%s", code, stderr, report)
	}
	if code, _, stderr := conformanceOf(t.Context(), t, same, args...); code != 0 {
		t.Errorf("without a server: exit code %d, stderr %s", code, stderr)
	}
}

// TestConformanceOutput: an output file that cannot be written is reported before any request to
// the daemon. An existing file is replaced only when the report is complete.
func TestConformanceOutput(t *testing.T) {
	requested := false
	watched := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requested = true
			next.ServeHTTP(w, r)
		})
	}
	dir := t.TempDir()
	for _, output := range []string{filepath.Join(dir, "none", "report"), dir} {
		code, stdout, stderr := conformanceOf(t.Context(), t, watched, "--only", "documents-read-200", "--output", output)
		if code != exitUsage || requested || stdout != "" || !strings.Contains(stderr, "--output: ") || !strings.Contains(stderr, dir) {
			t.Errorf("%s: exit code %d, request sent %v, stderr %s", output, code, requested, stderr)
		}
	}
	file, link := filepath.Join(dir, "report"), filepath.Join(dir, "link")
	filetest.Write(t, file, "old")
	if err := os.Symlink("report", link); err != nil {
		t.Fatal(err)
	}
	unusable := func(http.Handler) http.Handler { return http.NotFoundHandler() }
	if code, _, _ := conformanceOf(t.Context(), t, unusable, "--output", link); code != exitDaemon {
		t.Errorf("exit code %d", code)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "old" {
		t.Errorf("got %q, %v", data, err)
	}
	if code, _, stderr := conformanceOf(t.Context(), t, watched, "--only", "documents-read-200", "--output", link); code != exitDone {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	data, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || !strings.Contains(string(data), "MUST kept") || info.Mode().Perm() != 0o600 {
		t.Errorf("got %q, %v, %v", data, info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
