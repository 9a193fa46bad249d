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

// launching tells a launcher process what to do.
type launching struct {
	Profile Profile
	Options Options
	Exit    bool // end without a stop as soon as the daemon runs
}

// launcherRole starts a daemon, says so on stdout and never stops it.
func launcherRole(args []string) error {
	var todo launching
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
	return errors.New("the launcher ends without a stop")
}

func (b bench) launcher(t *testing.T, todo launching) *exec.Cmd {
	t.Helper()
	args, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(b.self, "role:launcher", string(args))
}

// A wrapper with a child that ignores SIGTERM: the parent-death signal ends
// the wrapper only, so the child's end is the guard's doing.
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
		{name: "killed, group of its own", roles: []string{"healthy", "stubborn"}, wrapper: []string{"setsid"}, kill: true},
		{name: "exit without stop", roles: []string{"healthy", "stubborn"}, exit: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.wrapped(test.roles...)
			if len(test.wrapper) > 0 {
				if _, err := exec.LookPath(test.wrapper[0]); err != nil {
					t.Skipf("%s is not installed", test.wrapper[0])
				}
				p.Command = append(test.wrapper, p.Command...)
			}
			cmd := b.launcher(t, launching{Profile: p, Options: b.opts, Exit: test.exit})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if test.kill {
				eventually(t, "daemon processes", func() bool { return len(b.running(t)) == 2 })
				_ = cmd.Process.Kill()
			}
			_ = cmd.Wait()
			eventually(t, "end of the daemon's processes", func() bool { return len(b.running(t)) == 0 })
		})
	}
}

func TestParentDeathSignal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	b := newBench(t)
	b.opts.Guard = nil
	cmd := b.launcher(t, launching{Profile: b.profile("stubborn"), Options: b.opts})
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
	eventually(t, "end of the daemon", func() bool { return len(b.running(t)) == 0 })
}

// Started by hand, in somebody else's process group, it must not kill that.
func TestGuardRefusesForeignGroup(t *testing.T) {
	b := newBench(t)
	cmd := exec.Command("sh", "-c", `"$0" role:guard </dev/null; echo "status $?"`, b.self)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "status 1") || !strings.Contains(string(out), "does not lead") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestGuardKillsItsGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	g, err := startGuard(t.Context(), b.opts.Guard, io.Discard)
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
	g.watch(other.Process.Pid)
	signalGroups([]int{g.group()}, syscall.SIGTERM)
	_ = member.Wait()
	if got := groupMembers([]int{g.group()}); len(got) != 1 || got[0] != g.group() {
		t.Errorf("after SIGTERM the group has %v, want the guard alone", got)
	}
	_ = g.stdin.Close()
	if err := other.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the watched group ended with %v", err)
	}
	if err := g.cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("guard ended with %v, want its own SIGKILL", err)
	}
}
