//go:build unix

package launch

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"evalctl/internal/awaittest"
)

// launchTask is the task of a launcher process.
type launchTask struct {
	Profile Profile
	Options Options
	Exit    bool // exit without Stop as soon as the daemon runs
	// Beside, if set, is a file that gets the ids of two other processes, which it starts first.
	Beside string
}

// launcherRole starts a daemon, prints its URL and does not stop it.
func launcherRole(args []string) error {
	var todo launchTask
	if err := json.Unmarshal([]byte(args[0]), &todo); err != nil {
		return err
	}
	if todo.Beside != "" {
		script := `sleep 1000 & echo $! >>"$0"; setsid sleep 1000 & echo $! >>"$0"`
		if err := exec.Command("sh", "-c", script, todo.Beside).Run(); err != nil {
			return err
		}
	}
	d, err := Start(context.Background(), todo.Profile, todo.Options)
	if err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString(d.URL() + "\n"); err != nil {
		return err
	}
	if !todo.Exit {
		<-d.Done()
	}
	return errors.New("the launcher exits without Stop")
}

func (e testEnv) launcher(t *testing.T, todo launchTask) *exec.Cmd {
	t.Helper()
	args, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(e.self, "role:launcher", string(args))
}

// The parent-death signal ends only the wrapper. The watchdog must end its child, which ignores
// SIGTERM.
func TestLauncherDies(t *testing.T) {
	tests := []struct {
		name    string
		roles   []string
		wrapper []string
		exit    bool
		kill    bool
	}{
		{name: "killed", roles: []string{"healthy", "stubborn"}, kill: true},
		{name: "killed during start", roles: []string{"unready", "stubborn"}, kill: true},
		{name: "killed, group of its own", roles: []string{"healthy", "stubborn"}, wrapper: []string{"setsid"},
			kill: true},
		{name: "exit without stop", roles: []string{"healthy", "stubborn"}, exit: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			p := e.wrapped(test.roles...)
			if len(test.wrapper) > 0 {
				if _, err := exec.LookPath(test.wrapper[0]); err != nil {
					t.Skipf("%s is not installed", test.wrapper[0])
				}
				p.Command = append(test.wrapper, p.Command...)
			}
			cmd := e.launcher(t, launchTask{Profile: p, Options: e.opts, Exit: test.exit})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if test.kill {
				awaittest.Until(t, "daemon processes", func() bool { return len(e.running(t)) == 2 })
				_ = cmd.Process.Kill()
			}
			_ = cmd.Wait()
			awaittest.Until(t, "end of the daemon's processes", func() bool { return len(e.running(t)) == 0 })
		})
	}
}

// When the watchdog is killed, the kernel ends the command, and this process all others that it
// knows.
func TestWatchdogDies(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.wrapped("healthy", "stubborn"))
	awaittest.Until(t, "daemon processes", func() bool { return len(e.running(t)) == 2 })
	if err := syscall.Kill(d.watchdog.group(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaittest.Receive(t, "d.Done", d.Done())
	e.requireNoProcesses(t)
	wantError(t, d.Err(), "its watchdog was killed")
	if names, known := d.Escaped(); known {
		t.Errorf("escaped %q are known", names)
	}
}

// A watchdog that does not lead its process group must not kill the group.
func TestWatchdogRejectsOtherGroup(t *testing.T) {
	e := newTestEnv(t)
	cmd := exec.Command("sh", "-c", `"$0" role:watchdog </dev/null; echo "status $?"`, e.self)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "status 1") || !strings.Contains(string(out), "does not lead") {
		t.Errorf("%v: %s", err, out)
	}
}

// SIGTERM, with which Stop begins, leaves the watchdog, which ends all at the end of its stdin.
func TestWatchdogStays(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.wrapped("stubborn", "stubborn"))
	awaittest.Until(t, "daemon processes", func() bool { return len(e.running(t)) == 2 })
	signalGroup(d.watchdog.group(), syscall.SIGTERM)
	if err := d.watchdog.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = d.watchdog.stdin.Close()
	awaittest.Receive(t, "d.Done", d.Done())
	if !d.watchdog.empty {
		t.Error("the watchdog did not see the end of the processes")
	}
	e.requireNoProcesses(t)
}

// The command must not inherit what the watchdog does with signals.
func TestSignalsOfCommand(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.profile("healthy"))
	if err := syscall.Kill(d.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	awaittest.Receive(t, "d.Done", d.Done())
	wantError(t, d.Err(), "signal: hangup")
}
