//go:build unix

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evalctl/internal/awaittest"
)

// Commands such as setsid and timeout create a process group of their own.
func TestCommandWithItsOwnGroup(t *testing.T) {
	t.Parallel()
	for _, wrapper := range [][]string{{"setsid"}, {"timeout", "1000"}} {
		t.Run(wrapper[0], func(t *testing.T) {
			if _, err := exec.LookPath(wrapper[0]); err != nil {
				t.Skipf("%s is not installed", wrapper[0])
			}
			e := newTestEnv(t)
			p := e.wrapped("stubborn", "healthy")
			p.Command = append(wrapper, p.Command...)
			d := e.start(t, p)
			awaittest.Until(t, "both processes", func() bool { return len(e.running(t)) == 2 })
			if err := d.stop(50 * time.Millisecond); err != nil {
				t.Error(err)
			}
			e.requireNoProcesses(t)
		})
	}
}

// A process that leaves the groups of the daemon belongs to it nevertheless, also if its parent has
// ended, and if evalctl itself is killed.
func TestStrays(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux with setsid(1)")
	}
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprintf("watched=%t", watched), func(t *testing.T) {
			e := newTestEnv(t)
			file := filepath.Join(t.TempDir(), "pids")
			p := e.profile("healthy")
			p.Command = append([]string{"sh", "-c",
				`(setsid sh -c 'trap "" TERM; echo $$ >>"$0"; while :; do sleep 1; done' "$0" &); exec "$@"`, file}, p.Command...)
			d := e.start(t, p)
			var stray int
			awaittest.Until(t, "the stray", func() bool {
				text, _ := os.ReadFile(file)
				stray, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return stray > 0
			})
			if !slices.Contains(pids(d.processes()), stray) {
				t.Errorf("the stray %d is not one of %v", stray, d.processes())
			}
			if watched {
				_ = d.watchdog.stdin.Close() // as when evalctl is killed
			} else {
				_ = d.watchdog.cmd.Process.Kill()
			}
			awaittest.Receive(t, "d.Done", d.Done())
			if left := processesOf(0, false, nil, d.mark); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

func TestDeathAfterStart(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.wrapped("stubborn", "stubborn"))
	if err := d.Err(); err != nil {
		t.Errorf("error while it runs: %v", err)
	}
	if err := syscall.Kill(d.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaittest.Receive(t, "d.Done", d.Done())
	e.requireNoProcesses(t)
	wantError(t, d.Err(), "signal: killed", strconv.Itoa(d.PID()))
	if err := d.Stop(); err != nil {
		t.Errorf("stop after death: %v", err)
	}
	wantError(t, d.Err(), "signal: killed")
}

func TestDeathByItself(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.profile("healthy"))
	if resp, err := client.Get(d.URL() + "/exit"); err == nil {
		resp.Body.Close()
	}
	awaittest.Receive(t, "d.Done", d.Done())
	wantError(t, d.Err(), "exit status 7", "asked to exit")
}

func TestStopEndsGrandchildren(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.wrapped("healthy", "stubborn"))
	awaittest.Until(t, "grandchildren", func() bool { return len(e.running(t)) == 2 })
	// A shorter grace than Stop's: one of them ends only with SIGKILL.
	if err := d.stop(50 * time.Millisecond); err != nil {
		t.Error(err)
	}
	e.requireNoProcesses(t)
	if left := processesOf(0, false, d.groups, d.mark); len(left) > 0 {
		t.Errorf("%v survived", left)
	}
}

// SIGTERM ends the wrapper at once, but the daemon below it needs longer.
func TestStopWaitsForGrandchild(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	file := filepath.Join(t.TempDir(), "saved")
	slow := fmt.Sprintf(`(trap 'sleep 0.2; echo done > "%s"; exit' TERM; `+
		`touch "%[1]s.ready"; while :; do sleep 0.01; done) & `, file)
	p := e.wrapped("healthy")
	p.Command[2] = slow + p.Command[2]
	d := e.start(t, p)
	awaittest.Until(t, "trap", func() bool { _, err := os.Stat(file + ".ready"); return err == nil })
	if err := d.stop(patience); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); string(data) != "done\n" {
		t.Errorf("the grandchild could not finish: %q, %v", data, err)
	}
}

func BenchmarkStartStop(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := Profile{Command: []string{self, "role:healthy", "{addr}"}}
	o := Options{LogPath: filepath.Join(b.TempDir(), "log"), Watchdog: []string{self, "role:watchdog"}}
	for b.Loop() {
		d, err := Start(b.Context(), p, o)
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}
