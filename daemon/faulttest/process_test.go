package faulttest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/internal/programtest"
)

// program is evalctl, built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "evalctl")
	return path, programtest.Build(path)
})

// built is a folder that TestMain deletes.
var built string

// replica is a process of evalctl serve, which may be killed and started again.
type replica struct {
	t    testing.TB
	name string
	args []string
	env  []string
	log  *os.File
	// path is the program, and under what it is run with, such as strace and its flags.
	path  string
	under []string

	mu  sync.Mutex
	url string
	cmd *exec.Cmd
}

// startReplica starts a daemon with the flags of serve, and ends it with the test.
func startReplica(t testing.TB, name string, env []string, args ...string) *replica {
	t.Helper()
	r := newReplica(t, name, env, args...)
	r.start()
	return r
}

// newReplica returns a daemon that does not run yet. It is ended with the test.
func newReplica(t testing.TB, name string, env []string, args ...string) *replica {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("build evalctl: %v", err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, name: name, args: args, env: env, log: log, path: path}
	t.Cleanup(func() {
		r.kill()
		data, _ := os.ReadFile(log.Name())
		for _, trace := range []string{"WARNING: DATA RACE", "panic: "} {
			if _, text, found := strings.Cut(string(data), trace); found {
				t.Errorf("%s: %s%s", name, trace, text[:min(len(text), 4000)])
			}
		}
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", name, tail(log.Name()))
		}
		_ = log.Close()
	})
	return r
}

func tail(path string) string {
	data, _ := os.ReadFile(path)
	lines := strings.Split(string(data), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// start returns once the daemon listens, on a new port.
func (r *replica) start() {
	r.t.Helper()
	if err := r.launch(); err != nil {
		r.t.Fatal(err)
	}
}

// launch is start for a daemon that may refuse to.
func (r *replica) launch() error {
	command := append(append([]string{}, r.under...), r.path, "serve", "--addr", "127.0.0.1:0")
	cmd := exec.Command(command[0], append(command[1:], r.args...)...)
	cmd.Env = append(append(os.Environ(), "SVC_LLM_PROVIDER=fake"), r.env...)
	cmd.Stderr = r.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	late := time.AfterFunc(settleTime, func() { _ = cmd.Process.Kill() })
	url := ""
	for sc := bufio.NewScanner(out); url == "" && sc.Scan(); {
		url, _ = strings.CutPrefix(sc.Text(), "evalctl: listening on ")
	}
	late.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if url == "" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("%s does not listen:\n%s", r.name, tail(r.log.Name()))
	}
	r.cmd, r.url = cmd, url
	return nil
}

// kill ends the process with SIGKILL, wherever it is.
func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait() // killed
		r.cmd = nil
	}
}

// URL returns the address of the process that runs, or ran last.
func (r *replica) URL() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.url
}
