package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evalctl/internal/awaittest"
)

// agent is an MCP client with a process of evalctl mcp. Its calls are made one after another.
type agent struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    io.Closer
	stdout *bufio.Reader
	stderr *strings.Builder
	id     int
}

// startAgent starts evalctl serve mcp and initializes the session.
func startAgent(t testing.TB, args ...string) *agent {
	t.Helper()
	a := &agent{t: t, stderr: new(strings.Builder)}
	a.cmd = exec.CommandContext(t.Context(), "evalctl", append([]string{"serve", "mcp"}, args...)...)
	a.cmd.Env = append(os.Environ(), "SVC_MCP_DEFAULT_BRAIN=", "SVC_HOME=", "SVC_LLM_PROVIDER=fake")
	a.cmd.Stderr = a.stderr
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.stdin, a.out, a.stdout = stdin, stdout, bufio.NewReader(stdout)
	if _, err := a.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	}); err != nil {
		t.Fatalf("initialize: %v", err)
	}
	fmt.Fprintln(a.stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return a
}

// request sends a request and returns its result.
func (a *agent) request(method string, params any) (json.RawMessage, error) {
	a.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(a.stdin, "%s\n", line); err != nil {
		return nil, err
	}
	for {
		line, err := a.stdout.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var reply struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &reply); err != nil {
			return nil, fmt.Errorf("stdout has %q: %w", line, err)
		}
		if reply.ID != a.id {
			continue // a notification
		}
		if reply.Error != nil {
			return nil, fmt.Errorf("%s", reply.Error)
		}
		return reply.Result, nil
	}
}

// call calls a tool and returns its structured content.
func (a *agent) call(tool string, arguments map[string]any) (map[string]any, error) {
	result, err := a.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	var r struct {
		IsError           bool
		StructuredContent map[string]any
		Content           json.RawMessage
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, err
	}
	if r.IsError {
		return nil, fmt.Errorf("%s: %s", tool, r.Content)
	}
	return r.StructuredContent, nil
}

func (a *agent) remember(title string) error {
	_, err := a.call("memory_remember", map[string]any{
		"content": "# " + title + "\n\nThe kettle is green.", "path": title + ".md",
	})
	return err
}

// paths returns the paths of all documents.
func (a *agent) paths() map[string]bool {
	a.t.Helper()
	found, err := a.call("memory_search", map[string]any{"query": "kettle", "top_k": 100})
	if err != nil {
		a.t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, hit := range found["hits"].([]any) {
		paths[hit.(map[string]any)["path"].(string)] = true
	}
	return paths
}

// end closes stdin and checks that the process ends with 0.
func (a *agent) end() {
	a.t.Helper()
	a.stdin.Close()
	a.wait()
}

func (a *agent) wait() {
	a.t.Helper()
	rest, _ := io.ReadAll(a.stdout)
	if err := a.cmd.Wait(); err != nil || len(rest) > 0 || strings.Contains(a.stderr.String(), "level=") {
		a.t.Errorf("evalctl mcp: %v, rest of stdout %q, stderr:\n%s", err, rest, a.stderr)
	}
}

func (a *agent) kill() {
	a.t.Helper()
	if err := a.cmd.Process.Kill(); err != nil {
		a.t.Fatal(err)
	}
	_ = a.cmd.Wait() // killed
}

// TestMCPHomeIsShared checks that several clients use one home, and that another process runs the
// daemon when the one that did ends.
func TestMCPHomeIsShared(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	first, second := startAgent(t, "--home", home), startAgent(t, "--home", home)
	if err := first.remember("one"); err != nil {
		t.Fatal(err)
	}
	if err := second.remember("two"); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*agent{first, second} {
		if r, err := a.call("memory_ask", map[string]any{"query": "What colour is the kettle?"}); err != nil ||
			r["answer"] != "The kettle is green." {
			t.Errorf("answer: %v, %v", r, err)
		}
	}
	if got := second.paths(); !got["one.md"] || !got["two.md"] {
		t.Errorf("second sees %v", got)
	}
	first.end()
	if err := second.remember("three"); err != nil {
		t.Fatalf("after the end of the first: %v", err)
	}
	third := startAgent(t, "--home", home)
	second.kill()
	if err := third.remember("four"); err != nil {
		t.Fatalf("after the kill of the second: %v", err)
	}
	if got := third.paths(); len(got) != 4 {
		t.Errorf("third sees %v", got)
	}
	if err := third.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	third.wait()
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("home: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(home, "mcp.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket remains: %v", err)
	}
}

// TestMCPHomeStartsOnce starts many clients on a new home at the same time.
func TestMCPHomeStartsOnce(t *testing.T) {
	home := t.TempDir()
	agents := make([]*agent, 5)
	var wg sync.WaitGroup
	for i := range agents {
		wg.Go(func() { agents[i] = startAgent(t, "--home", home) })
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	for i, a := range agents {
		if err := a.remember(fmt.Sprint("note", i)); err != nil {
			t.Fatal(err)
		}
	}
	brains, err := agents[0].call("memory_list_brains", nil)
	if items, _ := brains["items"].([]any); err != nil || len(items) != 1 {
		t.Errorf("brains: %v, %v", brains, err)
	}
	for i, a := range agents {
		if i == 0 {
			if got := a.paths(); len(got) != len(agents) {
				t.Errorf("found %v", got)
			}
		}
		a.end()
	}
}

// TestMCPKeepsAcknowledgedWrites kills the process that runs the daemon, several times, while all
// others write.
func TestMCPKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	owners := make([]*agent, 3)
	for i := range owners {
		owners[i] = startAgent(t, "--home", home)
	}
	writer := startAgent(t, "--home", home)
	acknowledged := []string{}
	done := make(chan struct{})
	var writing errgroup.Group
	writing.Go(func() error {
		for i := 0; ; i++ {
			select {
			case <-done:
				return writer.remember("last") // as soon as the last owner was killed
			default:
			}
			if title := fmt.Sprint("note", i); writer.remember(title) == nil {
				acknowledged = append(acknowledged, title)
			}
		}
	})
	for _, a := range owners {
		time.Sleep(50 * time.Millisecond) // some writes
		if err := a.remember("owner"); err != nil && !strings.Contains(err.Error(), "memory_remember") {
			t.Error(err)
		}
		a.kill()
	}
	close(done)
	if err := writing.Wait(); err != nil {
		t.Errorf("after the last kill: %v", err)
	}
	writer.kill()
	reader := startAgent(t, "--home", home)
	defer reader.end()
	if len(acknowledged) == 0 {
		t.Fatal("nothing was acknowledged")
	}
	for _, title := range append(acknowledged, "last") {
		found, err := reader.call("memory_search", map[string]any{"query": title, "top_k": 100})
		if err != nil || !strings.Contains(fmt.Sprint(found), title+".md") {
			t.Errorf("%s is lost: %v", title, err)
		}
	}
}

// TestMCPClientGone checks that a process ends properly if its client has closed both pipes. A
// write to a closed stdout must not kill it.
func TestMCPClientGone(t *testing.T) {
	home := t.TempDir()
	a := startAgent(t, "--home", home)
	a.out.Close()
	fmt.Fprintln(a.stdin, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	a.stdin.Close()
	_ = a.cmd.Wait() // the exit code is of no interest to a client that is gone
	if status := a.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() {
		t.Errorf("evalctl mcp: %v", a.cmd.ProcessState)
	}
	if _, err := os.Stat(filepath.Join(home, "mcp.sock")); !os.IsNotExist(err) {
		t.Errorf("the daemon was not closed: %v", err)
	}
}

// TestMCPEnds ends processes while calls are under way, and checks that what was acknowledged is
// stored, and that after the end of stdin everything is.
func TestMCPEnds(t *testing.T) {
	t.Parallel()
	const calls = 100
	for _, c := range []struct {
		name string
		end  func(a *agent)
		all  bool
	}{
		{"stdin", func(a *agent) { a.stdin.Close() }, true},
		{"SIGTERM", func(a *agent) { _ = a.cmd.Process.Signal(syscall.SIGTERM) }, false},
		{"SIGINT", func(a *agent) { _ = a.cmd.Process.Signal(os.Interrupt) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			a := startAgent(t, "--home", home)
			for i := range calls {
				fmt.Fprintf(a.stdin, `{"jsonrpc":"2.0","id":"w%d","method":"tools/call","params":{"name":"memory_remember","arguments":`+
					`{"content":"kettle%d","path":"w%d.md"}}}`+"\n", i, i, i)
			}
			acknowledged := 0
			stored := make([]bool, calls)
			for {
				line, err := a.stdout.ReadBytes('\n')
				if err != nil {
					break
				}
				var reply struct {
					ID     string
					Result struct{ IsError bool }
					Error  any
				}
				if err := json.Unmarshal(line, &reply); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				var i int
				if _, err := fmt.Sscanf(reply.ID, "w%d", &i); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if reply.Error == nil && !reply.Result.IsError {
					stored[i] = true
					acknowledged++
				}
				if acknowledged == 5 {
					c.end(a)
				}
			}
			if err := a.cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, a.stderr)
			}
			if c.all && acknowledged != calls {
				t.Errorf("%d of %d calls acknowledged\n%s", acknowledged, calls, a.stderr)
			}
			reader := startAgent(t, "--home", home)
			defer reader.end()
			for i, ok := range stored {
				if !ok {
					continue
				}
				found, err := reader.call("memory_search", map[string]any{"query": fmt.Sprint("kettle", i)})
				if err != nil || !strings.Contains(fmt.Sprint(found), fmt.Sprintf("w%d.md", i)) {
					t.Errorf("w%d.md was acknowledged and is lost: %v, %v", i, found, err)
				}
			}
		})
	}
}

// TestMCPWithoutSocket uses a home whose socket would have too long a path. One process works, and
// a second one reports why it cannot.
func TestMCPWithoutSocket(t *testing.T) {
	home := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	first := startAgent(t, "--home", home)
	if err := first.remember("one"); err != nil {
		t.Error(err)
	}
	out, err := exec.CommandContext(t.Context(), "evalctl", "serve", "mcp", "--home", home).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitUsage ||
		!strings.Contains(string(out), "is in use by another evalctl serve mcp, which cannot be reached") {
		t.Errorf("second process: %v\n%s", err, out)
	}
	first.kill()
	if !strings.Contains(first.stderr.String(), "other processes cannot use this home") {
		t.Errorf("stderr:\n%s", first.stderr)
	}
}
