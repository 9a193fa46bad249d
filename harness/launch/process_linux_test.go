package launch

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"evalctl/internal/awaittest"
)

// A zombie is still in its group, and kill(2) succeeds.
func TestGroupMembersOmitsZombies(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	cmd.SysProcAttr = groupLeader()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	awaittest.Until(t, "zombie", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil && bytes.Contains(stat, []byte(") Z "))
	})
	if err := syscall.Kill(-cmd.Process.Pid, 0); err != nil {
		t.Fatalf("the group no longer exists: %v", err)
	}
	if got := processesOf(0, false, []int{cmd.Process.Pid}, "EVALCTL_NO_MARK"); len(got) > 0 {
		t.Errorf("members %v, want none", got)
	}
}

// The memory of a daemon is that of its processes without the watchdog, and is not known once it
// has ended.
func TestPeakRSS(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.profile("healthy"))
	own := peakMemory([]process{{pid: d.PID()}})
	if got := d.PeakRSS(); own < 1<<20 || got < own {
		t.Errorf("peak %d bytes, that of the command alone %d", got, own)
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := d.PeakRSS(); got != 0 {
		t.Errorf("peak %d bytes of a daemon that has ended", got)
	}
}

func TestForeignListener(t *testing.T) {
	t.Parallel()
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = groupLeader()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("no listener on %s: %v", address, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		if foreignListener([]process{{pid: os.Getpid()}}, port) {
			t.Errorf("%s: the group's own listener is reported as foreign", address)
		}
		if !foreignListener([]process{{pid: other.Process.Pid}}, port) {
			t.Errorf("%s: a listener of another group is not reported as foreign", address)
		}
		l.Close()
		// A child of another test may have the socket until it calls exec.
		awaittest.Until(t, "end of the listener on "+address, func() bool {
			return !foreignListener([]process{{pid: other.Process.Pid}}, port)
		})
	}
}

// The launcher is killed at various stages of a start. All processes that it has started by then
// must end. They share a variable in their environment.
func TestLauncherKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	mark := pidsEnv + "=" + e.pids
	for delay := time.Duration(0); delay < 45*time.Millisecond; delay += 3 * time.Millisecond {
		cmd := e.launcher(t, launchTask{Profile: e.wrapped("unready", "stubborn"), Options: e.opts})
		cmd.Env = append(os.Environ(), mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(delay) // varies the stage; the outcome must not depend on it
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	// A process that is ending loses its environment before it is gone.
	awaittest.Until(t, "end of all processes", func() bool { return !processWith(mark) && len(e.running(t)) == 0 })
}

// processWith reports whether a process has the variable in its environment.
func processWith(variable string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		return err == nil && bytes.Contains(data, []byte(variable))
	})
}
