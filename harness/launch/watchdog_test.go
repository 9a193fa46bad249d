//go:build unix

package launch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// launchTask is the task of a launcher process.
type launchTask struct {
	Profile Profile
	Options Options
	Exit    bool // exit without Stop as soon as the daemon runs
}

// launcherRole starts a daemon, prints its URL and does not stop it.
func launcherRole(args []string) error {
	var todo launchTask
	if err := json.Unmarshal([]byte(args[0]), &todo); err != nil {
		return err
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
				waitFor(t, "daemon processes", func() bool { return len(e.running(t)) == 2 })
				_ = cmd.Process.Kill()
			}
			_ = cmd.Wait()
			waitFor(t, "end of the daemon's processes", func() bool { return len(e.running(t)) == 0 })
		})
	}
}

func TestParentDeathSignal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	e := newTestEnv(t)
	e.opts.Watchdog = nil
	cmd := e.launcher(t, launchTask{Profile: e.profile("stubborn"), Options: e.opts})
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	waitFor(t, "end of the daemon", func() bool { return len(e.running(t)) == 0 })
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

func TestWatchdogKillsItsGroup(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	g, err := startWatchdog(t.Context(), e.opts.Watchdog, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	member := exec.Command("sleep", "1000")
	member.SysProcAttr = processAttributes(g.group())
	if err := member.Start(); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = groupLeader()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	g.watch(other.Process.Pid, "")
	signalGroups([]int{g.group()}, syscall.SIGTERM)
	_ = member.Wait()
	if got, _ := live([]int{g.group()}, ""); len(got) != 1 || got[0] != g.group() {
		t.Errorf("after SIGTERM the group has %v, want only the watchdog", got)
	}
	_ = g.stdin.Close()
	if err := other.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the watched group ended with %v", err)
	}
	if err := g.cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("watchdog ended with %v, want its own SIGKILL", err)
	}
}
