//go:build unix

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Commands that make a process group of their own, as setsid and timeout do.
func TestCommandWithItsOwnGroup(t *testing.T) {
	t.Parallel()
	for _, wrapper := range [][]string{{"setsid"}, {"timeout", "1000"}} {
		t.Run(wrapper[0], func(t *testing.T) {
			if _, err := exec.LookPath(wrapper[0]); err != nil {
				t.Skipf("%s is not installed", wrapper[0])
			}
			b := newBench(t)
			p := b.wrapped("stubborn", "healthy")
			p.Command = append(wrapper, p.Command...)
			d := b.start(t, p)
			eventually(t, "both processes", func() bool { return len(b.running(t)) == 2 })
			if err := d.end(50 * time.Millisecond); err != nil {
				t.Error(err)
			}
			b.mustBeGone(t)
		})
	}
}

func TestDeathAfterStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.start(t, b.wrapped("stubborn", "stubborn"))
	if err := d.Err(); err != nil {
		t.Errorf("it runs, yet: %v", err)
	}
	if err := syscall.Kill(d.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-d.Done()
	b.mustBeGone(t)
	wantError(t, d.Err(), "signal: killed", strconv.Itoa(d.PID()))
	if err := d.Stop(); err != nil {
		t.Errorf("stop after death: %v", err)
	}
	wantError(t, d.Err(), "signal: killed")
}

func TestDeathByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.start(t, b.profile("healthy"))
	if resp, err := client.Get(d.URL() + "/exit"); err == nil {
		resp.Body.Close()
	}
	<-d.Done()
	wantError(t, d.Err(), "exit status 7", "asked to exit")
}

func TestStopEndsGrandchildren(t *testing.T) {
	t.Parallel()
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("guarded=%t", guarded), func(t *testing.T) {
			b := newBench(t)
			if !guarded {
				b.opts.Guard = nil
			}
			d := b.start(t, b.wrapped("healthy", "stubborn"))
			eventually(t, "grandchildren", func() bool { return len(b.running(t)) == 2 })
			// The grace is Stop's, cut short: only SIGKILL ends one of them.
			if err := d.end(50 * time.Millisecond); err != nil {
				t.Error(err)
			}
			b.mustBeGone(t)
			if left := groupMembers(d.groups); len(left) > 0 {
				t.Errorf("group members %v survived", left)
			}
		})
	}
}

// The wrapper dies of SIGTERM at once, the daemon behind it needs a moment.
func TestStopWaitsForGrandchild(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "saved")
	slow := fmt.Sprintf(`(trap 'sleep 0.2; echo done > "%s"; exit' TERM; touch "%[1]s.ready"; while :; do sleep 0.01; done) & `, file)
	p := b.wrapped("healthy")
	p.Command[2] = slow + p.Command[2]
	d := b.start(t, p)
	eventually(t, "trap", func() bool { _, err := os.Stat(file + ".ready"); return err == nil })
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); string(data) != "done\n" {
		t.Errorf("the grandchild was not allowed to finish: %q, %v", data, err)
	}
}

func BenchmarkStartStop(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := Profile{Command: []string{self, "role:healthy", "{addr}"}}
	for name, guard := range map[string][]string{"guarded": {self, "role:guard"}, "unguarded": nil} {
		b.Run(name, func(b *testing.B) {
			o := Options{LogPath: filepath.Join(b.TempDir(), "log"), Guard: guard}
			for b.Loop() {
				d, err := Start(b.Context(), p, o)
				if err != nil {
					b.Fatal(err)
				}
				if err := d.Stop(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
