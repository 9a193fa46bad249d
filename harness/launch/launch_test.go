package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const patience = 20 * time.Second // far beyond what a healthy machine needs

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

// wantError checks that an error holds every one of the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error lacks %q:\n%v", text, err)
		}
	}
}

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.start(t, b.profile("healthy"))
	resp, err := client.Get(d.URL() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got, want := d.Version(), `v1\x1b[31m`; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
	if d.HealthyIn() <= 0 || d.HealthyIn() > patience {
		t.Errorf("healthy in %v", d.HealthyIn())
	}
	if !slices.Contains(b.running(t), d.PID()) {
		t.Errorf("pid %d is not the daemon: %v", d.PID(), b.running(t))
	}
	guard := d.guard.cmd.Process.Pid
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			b.mustBeGone(t)
		})
	}
	wg.Wait()
	<-d.Done()
	if err := d.Err(); err != nil {
		t.Errorf("stopped as asked, yet: %v", err)
	}
	if err := syscall.Kill(guard, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the guard outlived a stop: %v", err)
	}
}

func TestHealthyBodyOfAnotherForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if d := b.start(t, b.profile("plain")); d.Version() != "" {
		t.Errorf("version %q out of nowhere", d.Version())
	}
}

func TestAnnouncedPort(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.profile("announce")
	p.Announces = true
	d := b.start(t, p)
	if strings.HasSuffix(d.URL(), ":0") || !strings.HasPrefix(d.URL(), "http://127.0.0.1:") {
		t.Errorf("url %s", d.URL())
	}
}

func TestFixedPort(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b.opts.Port = l.Addr().(*net.TCPAddr).Port
	port := strconv.Itoa(b.opts.Port)
	_, err = Start(t.Context(), b.profile("healthy"), b.opts)
	wantError(t, err, "port "+port, "in use")
	if entries, _ := os.ReadDir(b.pids); len(entries) > 0 {
		t.Error("a daemon was started for a port in use")
	}
	l.Close()
	if d := b.start(t, b.profile("healthy")); d.URL() != "http://127.0.0.1:"+port {
		t.Errorf("url %s, want port %s", d.URL(), port)
	}
}

func TestPortStolen(t *testing.T) {
	for _, fate := range []string{"ends", "stays"} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			if fate == "stays" && runtime.GOOS != "linux" {
				t.Skip("only Linux tells who owns a socket")
			}
			b := newBench(t)
			memory := filepath.Join(t.TempDir(), "stranger")
			t.Cleanup(func() { killFrom(t, memory) })
			d := b.start(t, b.profile("thief", memory, fate))
			if d.Version() != "ours" {
				t.Errorf("the answer at %s came from a stranger", d.URL())
			}
		})
	}
}

// A command that leaves the process group cannot be stopped for sure.
func TestDetachedCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	setsid, err := exec.LookPath("setsid")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux with setsid(1)")
	}
	p := b.profile("healthy")
	p.Command = append([]string{setsid}, p.Command...)
	_, err = Start(t.Context(), p, b.opts)
	wantError(t, err, "outside the daemon's process group", "setsid")
}

func killFrom(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("stranger %d: %v", pid, err)
	}
}

func TestStartFailures(t *testing.T) {
	b := newBench(t)
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(stranger)
	defer server.Close()
	tests := []struct {
		name    string
		profile Profile
		change  func(*Options)
		want    []string
	}{
		{name: "unready", profile: b.profile("unready"), want: []string{"healthy within 300ms", "status 503", `warming\x1b[2J up`, "wrote nothing", b.opts.LogPath}},
		{name: "not ok", profile: b.profile("notok"), want: []string{"healthy within", `{"ok":false}`}},
		{name: "redirect", profile: b.profile("redirect", stranger.Addr().String()), want: []string{"status 302"}},
		{name: "silent", profile: b.profile("silent"), want: []string{"no answer to the last request"}},
		{name: "refuses its arguments", profile: Profile{Command: []string{"sleep", "1000", "{addr}"}}, want: []string{"daemon (pid", "exit status 1"}},
		{name: "nobody answers", profile: Profile{Command: []string{"sh", "-c", "sleep 1000; echo {addr}"}}, want: []string{"refused", "127.0.0.1:"}},
		{name: "nothing announced", profile: Profile{Command: []string{"sh", "-c", "sleep 1000; echo {addr}"}, Announces: true}, want: []string{"announced no address"}},
		{name: "no place for the port", profile: Profile{Command: []string{"sleep", "1000"}}, want: []string{"no {addr} or {port}", ErrNotConfigured.Error()}},
		{name: "no such program", profile: Profile{Command: []string{"/nowhere/daemon", "{addr}"}}, want: []string{"/nowhere/daemon", "no such file"}},
		{name: "no command", profile: Profile{}, want: []string{ErrNotConfigured.Error()}},
		{name: "no log", profile: b.profile("healthy"), change: func(o *Options) { o.LogPath = "" }, want: []string{"no log path"}},
		{name: "no such directory", profile: Profile{Command: []string{"true", "{addr}"}, Dir: "/nowhere"}, want: []string{"/nowhere"}},
		{name: "guard is missing", profile: b.profile("healthy"), change: func(o *Options) { o.Guard = []string{"/nowhere/guard"} }, want: []string{"guard", "/nowhere/guard"}},
		{name: "guard ends", profile: b.profile("healthy"), change: func(o *Options) { o.Guard = []string{b.self, "role:notguard"} }, want: []string{"guard", "exit status 1", "no such command"}},
		{name: "guard is something else", profile: b.profile("healthy"), change: func(o *Options) { o.Guard = []string{"sh", "-c", "echo hello; sleep 1000"} }, want: []string{"guard", `hello`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := b.opts
			o.HealthTimeout = 300 * time.Millisecond
			if test.change != nil {
				test.change(&o)
			}
			d, err := Start(t.Context(), test.profile, o)
			if err == nil {
				_ = d.Stop()
			}
			wantError(t, err, test.want...)
			b.mustBeGone(t)
		})
	}
}

func TestEarlyExit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := Start(t.Context(), b.profile("crash"), b.opts)
	wantError(t, err, "exit status 3", b.opts.LogPath, `line 10 \x1b]0;title\a`, "line 29")
	for _, text := range []string{"line 9 ", "\x1b", "\a"} {
		if strings.Contains(err.Error(), text) {
			t.Errorf("error has %q:\n%v", text, err)
		}
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
			if left := groupMembers(d.group); len(left) > 0 {
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

func TestCancelDuringStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cause := errors.New("the user went home")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		eventually(t, "daemon", func() bool { return len(b.running(t)) == 2 })
		cancel(cause)
	}()
	p := b.wrapped("unready", "stubborn")
	if _, err := Start(ctx, p, b.opts); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	b.mustBeGone(t)
	if _, err := Start(ctx, p, b.opts); !errors.Is(err, cause) {
		t.Errorf("already cancelled: error %v, want %v", err, cause)
	}
}

// The daemon's life is its own: the end of Start's context does not touch it.
func TestContextBoundsStartOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	d, err := Start(ctx, b.profile("healthy"), b.opts)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp, err := client.Get(d.URL())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := d.Stop(); err != nil || d.Err() != nil {
		t.Error(err, d.Err())
	}
}

func TestChatter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.start(t, b.profile("chatter"))
	info, err := os.Stat(b.opts.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Size(), int64(10<<20+5<<10*2); got < want-5<<10*2 {
		t.Errorf("log has %d bytes, want %d", got, want)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("log mode %v", info.Mode())
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
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
