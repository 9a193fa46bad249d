//go:build unix

package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = 2 * time.Minute // far beyond what a healthy machine needs

// bench is what one test needs to start daemons and to find out who survived.
type bench struct {
	self string
	pids string
	opts Options
}

func newBench(t *testing.T) bench {
	t.Helper()
	if !supported {
		t.Skip("no process groups on " + runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := bench{self: self, pids: t.TempDir()}
	b.opts = Options{
		LogPath: filepath.Join(t.TempDir(), "logs", "daemon.log"),
		Guard:   []string{self, "role:guard"},
	}
	t.Cleanup(func() { b.mustBeGone(t) })
	return b
}

// profile runs a role of this test binary.
func (b bench) profile(role string, args ...string) Profile {
	command := append([]string{b.self, "role:" + role, "{addr}"}, args...)
	return Profile{SDK: "go", Command: command, Env: []string{pidsEnv + "=" + b.pids}}
}

// wrapped runs a shell that starts roles in the background and waits.
func (b bench) wrapped(roles ...string) Profile {
	var script strings.Builder
	for i, role := range roles {
		addr := "127.0.0.1:0"
		if i == 0 {
			addr = "{addr}"
		}
		fmt.Fprintf(&script, "'%s' role:%s %s & ", b.self, role, addr)
	}
	p := b.profile("")
	p.Command = []string{"sh", "-c", script.String() + "wait"}
	return p
}

func (b bench) start(t *testing.T, p Profile) *Daemon {
	t.Helper()
	d, err := Start(t.Context(), p, b.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	return d
}

// running lists the role processes that still live, by their own account.
func (b bench) running(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir(b.pids)
	if err != nil {
		t.Fatal(err)
	}
	var alive []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		zombie := err == nil && strings.Contains(string(stat), ") Z ")
		if !zombie && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			alive = append(alive, pid)
		}
	}
	return alive
}

// mustBeGone checks at once: whoever promised an end must have waited for it.
func (b bench) mustBeGone(t *testing.T) {
	t.Helper()
	for _, pid := range b.running(t) {
		t.Errorf("process %d survived", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
