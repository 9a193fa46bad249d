package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
)

// escape is a script that leaves two processes without the daemon's groups, session and
// environment, in a session whose leader ends, and then becomes the daemon.
const escape = `setsid env -i PATH="$PATH" sh -c 'sleep 1000 & echo $! >>"$0"; sleep 1000 & echo $! >>"$0"' "$0" & wait; exec "$@"`

// TestEscaped: processes that cannot be known by anything but their ancestors are ended and named,
// whether the daemon is stopped or dies, and are not left as zombies.
func TestEscaped(t *testing.T) {
	for _, how := range []string{"stop", "death", "daemon beside it"} {
		t.Run(how, func(t *testing.T) {
			e := newTestEnv(t)
			p, file := e.escaping(t)
			var other *Daemon
			if how == "daemon beside it" {
				other = e.start(t, e.profile("healthy"))
			}
			d := e.start(t, p)
			pids := asleep(t, file)
			var want []string
			for _, pid := range pids {
				want = append(want, fmt.Sprintf("sleep (pid %d)", pid))
			}
			slices.Sort(want)
			var err error
			if known := processesOf(0, false, d.groups, d.mark); len(pids) != 2 || holds(known, pids[0]) || holds(known, pids[1]) {
				t.Fatalf("pids %v, known %v: they did not escape", pids, known)
			}
			switch how {
			case "stop":
				err = d.Stop()
			case "death":
				err = syscall.Kill(d.PID(), syscall.SIGKILL)
			default:
				if err = other.Stop(); err == nil {
					for _, pid := range pids {
						if err := syscall.Kill(pid, 0); err != nil {
							t.Errorf("a process of the other daemon was ended: %v", err)
						}
					}
					err = d.Stop()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			awaittest.Receive(t, "the end of the daemon", d.Done())
			if got, known := d.Escaped(); !known || !slices.Equal(got, want) {
				t.Errorf("got %q, known %t, want %q", got, known, want)
			}
			if other != nil {
				if got, known := other.Escaped(); !known || len(got) > 0 {
					t.Errorf("the other daemon has %q, known %t", got, known)
				}
			}
			for _, pid := range pids {
				if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
					t.Errorf("process %d still exists: %v", pid, err)
				}
			}
		})
	}
}

// escaping returns the profile of a daemon that leaves two processes, and the file that has their
// ids once it is healthy.
func (e testEnv) escaping(t *testing.T) (p Profile, file string) {
	t.Helper()
	for _, tool := range []string{"setsid", "env", "sleep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	p, file = e.profile("healthy"), filepath.Join(t.TempDir(), "pids")
	p.Command = append([]string{"sh", "-c", escape, file}, p.Command...)
	return p, file
}

// recorded returns the two process ids in a file.
func recorded(t *testing.T, file string) (pids []int) {
	t.Helper()
	awaittest.Until(t, "the processes", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Count(string(text), "\n") == 2
	})
	text := filetest.Read(t, file)
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// asleep returns the two process ids in a file once each is a sleep: it begins as a copy of the shell
// that starts it.
func asleep(t *testing.T, file string) []int {
	t.Helper()
	pids := recorded(t, file)
	awaittest.Until(t, "the sleeps", func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool {
			p, _ := readProcess(pid)
			return p.name != "sleep"
		})
	})
	return pids
}

// bystander is a process of this program that no daemon has started, in a session of its own.
func bystander(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestEscapedOfKilledLauncher: they are ended also if the process that started the daemon is
// killed, during the start or later. Processes that it has started besides are not.
func TestEscapedOfKilledLauncher(t *testing.T) {
	for _, role := range []string{"healthy", "unready"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			p, file := e.escaping(t)
			p.Command[5] = "role:" + role
			cmd := e.launcher(t, launchTask{Profile: p, Options: e.opts, Beside: file + ".beside"})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pids := asleep(t, file)
			awaittest.Until(t, "the daemon", func() bool { return len(e.running(t)) == 1 })
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			awaittest.Until(t, "the end of all", func() bool {
				return len(e.running(t)) == 0 && syscall.Kill(pids[0], 0) != nil && syscall.Kill(pids[1], 0) != nil
			})
			beside := recorded(t, file+".beside")
			for _, pid := range beside {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Errorf("process %d of the launcher was ended: %v", pid, err)
				}
			}
		})
	}
}

// TestWatchdogFrozen: a watchdog that does nothing delays the end of the daemon, but does not
// prevent it. A process that no daemon has started is not touched.
func TestWatchdogFrozen(t *testing.T) {
	e := newTestEnv(t)
	other := bystander(t)
	was := killWait
	killWait = time.Second
	defer func() { killWait = was }()
	p, file := e.escaping(t)
	d := e.start(t, p)
	if err := syscall.Kill(d.watchdog.group(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := d.stop(10 * time.Millisecond); err != nil {
		t.Error(err)
	}
	for _, pid := range append(recorded(t, file), d.PID()) {
		if p, ok := readProcess(pid); ok && !p.zombie {
			t.Errorf("%v is alive", p)
		}
	}
	if err := syscall.Kill(other.Process.Pid, 0); err != nil {
		t.Error(err)
	}
}

// TestSignalOtherProcess: a process that was given the id of one that has ended is not touched.
func TestSignalOtherProcess(t *testing.T) {
	t.Parallel()
	other := bystander(t)
	p, ok := readProcess(other.Process.Pid)
	if !ok {
		t.Fatal("it is not in the table")
	}
	earlier := p
	earlier.start--
	if err := earlier.signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if now, ok := readProcess(p.pid); !ok || now.zombie {
		t.Errorf("it was ended: %v", now)
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = other.Wait()
	if err := p.signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

func holds(all []process, pid int) bool {
	return slices.ContainsFunc(all, func(p process) bool { return p.pid == pid })
}
