package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// escape is a script that leaves two processes without the daemon's groups, session and
// environment, in a session whose leader ends, and then becomes the daemon.
const escape = `setsid env -i PATH="$PATH" sh -c 'sleep 1000 & echo $! >>"$0"; sleep 1000 & echo $! >>"$0"' "$0" & wait; exec "$@"`

// TestEscaped: processes that cannot be known by anything but their ancestors are ended and named,
// whether the daemon is stopped or dies, and are not left as zombies.
func TestEscaped(t *testing.T) {
	for _, tool := range []string{"setsid", "env", "sleep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	for _, how := range []string{"stop", "death", "daemon beside it"} {
		t.Run(how, func(t *testing.T) {
			e := newTestEnv(t)
			file := filepath.Join(t.TempDir(), "pids")
			p := e.profile("healthy")
			p.Command = append([]string{"sh", "-c", escape, file}, p.Command...)
			var other *Daemon
			if how == "daemon beside it" {
				other = e.start(t, e.profile("healthy"))
			}
			d := e.start(t, p)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var pids []int
			var want []string
			for _, word := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				pids, want = append(pids, pid), append(want, fmt.Sprintf("sleep (pid %d)", pid))
			}
			slices.Sort(want)
			if _, strays := live(d.groups, d.mark); len(pids) != 2 || len(strays) > 0 {
				t.Fatalf("pids %v, strays %v: they did not escape", pids, strays)
			}
			ends := d
			switch how {
			case "stop":
				err = d.Stop()
			case "death":
				err = syscall.Kill(d.PID(), syscall.SIGKILL)
			default:
				if err = d.Stop(); err == nil {
					for _, pid := range pids {
						if alive := syscall.Kill(pid, 0); alive != nil {
							t.Errorf("a process of one of two daemons was ended: %v", alive)
						}
					}
					ends = other
					err = other.Stop()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			<-ends.Done()
			if got, known := ends.Escaped(); !known || !slices.Equal(got, want) {
				t.Errorf("got %q, known %t, want %q", got, known, want)
			}
			for _, pid := range pids {
				if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
					t.Errorf("process %d still exists: %v", pid, err)
				}
			}
		})
	}
}
