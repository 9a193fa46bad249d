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

// patience bounds waits that end with an event. Only a failing test reaches it.
const patience = 3 * time.Minute

// testEnv starts daemons for one test and finds their remaining processes.
type testEnv struct {
	self string
	pids string
	opts Options
}

func newTestEnv(t *testing.T) testEnv {
	t.Helper()
	if !supported {
		t.Skip("no process groups on " + runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := testEnv{self: self, pids: t.TempDir()}
	e.opts = Options{
		LogPath:  filepath.Join(t.TempDir(), "logs", "daemon.log"),
		Watchdog: []string{self, "role:watchdog"},

		HealthTimeout: patience,
	}
	t.Cleanup(func() { e.requireNoProcesses(t) })
	return e
}

// profile returns the profile of a role of this test binary.
func (e testEnv) profile(role string, args ...string) Profile {
	command := append([]string{e.self, "role:" + role, "{addr}"}, args...)
	return Profile{Command: command, Env: []string{pidsEnv + "=" + e.pids}}
}

// wrapped returns the profile of a shell that starts roles in the background and waits.
func (e testEnv) wrapped(roles ...string) Profile {
	var script strings.Builder
	for i, role := range roles {
		addr := "127.0.0.1:0"
		if i == 0 {
			addr = "{addr}"
		}
		fmt.Fprintf(&script, "'%s' role:%s %s & ", e.self, role, addr)
	}
	p := e.profile("")
	p.Command = []string{"sh", "-c", script.String() + "wait"}
	return p
}

func (e testEnv) start(t *testing.T, p Profile) *Daemon {
	t.Helper()
	d, err := Start(t.Context(), p, e.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	return d
}

// running returns the live processes among those that recorded their id in e.pids.
func (e testEnv) running(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir(e.pids)
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

// requireNoProcesses does not wait: Stop and a failed Start return when no process is left.
func (e testEnv) requireNoProcesses(t *testing.T) {
	t.Helper()
	for _, pid := range e.running(t) {
		t.Errorf("process %d survived", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
