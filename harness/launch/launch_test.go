//go:build unix

package launch

import (
	"context"
	"errors"
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

// An announcement is only text: whoever serves the address must be ours.
func TestAnnouncedByAStranger(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who owns a socket")
	}
	stranger := newBench(t)
	url := stranger.start(t, stranger.profile("healthy")).URL()
	b := newBench(t)
	p := b.profile("liar", url)
	p.Announces = true
	d, err := Start(t.Context(), p, b.opts)
	if err == nil {
		_ = d.Stop()
	}
	wantError(t, err, "did not start", "listening on "+url)
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

// A server that detached itself from the command could not be stopped.
func TestDetachedServer(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux with setsid(1)")
	}
	b := newBench(t)
	memory := filepath.Join(t.TempDir(), "stranger")
	p := b.profile("thief", memory, "stays")
	var err error
	if b.opts.Port, err = freePort(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), p, b.opts)
	killFrom(t, memory)
	wantError(t, err, "port "+strconv.Itoa(b.opts.Port), "detached")
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
		{name: "unready", profile: b.profile("unready"), want: []string{"healthy within ", "status 503", `warming\x1b[2J up`, "wrote nothing", b.opts.LogPath}},
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
			if test.change != nil {
				test.change(&o)
			}
			// A busy machine may need longer to get as far as the failure.
			for o.HealthTimeout = 200 * time.Millisecond; ; o.HealthTimeout *= 2 {
				d, err := Start(t.Context(), test.profile, o)
				if err == nil {
					_ = d.Stop()
				}
				b.mustBeGone(t)
				if !lacksAny(err, test.want) || o.HealthTimeout > patience {
					wantError(t, err, test.want...)
					return
				}
			}
		})
	}
}

func lacksAny(err error, texts []string) bool {
	return err == nil || slices.ContainsFunc(texts, func(text string) bool {
		return !strings.Contains(err.Error(), text)
	})
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

func TestCancelDuringStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	cause := errors.New("the user went home")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := b.wrapped("unready", "stubborn")
	started := make(chan error)
	go func() {
		_, err := Start(ctx, p, b.opts)
		started <- err
	}()
	eventually(t, "daemon", func() bool { return len(b.running(t)) == 2 })
	cancel(cause)
	if err := <-started; !errors.Is(err, cause) {
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
	if got, want := info.Size(), int64(2*chatterLines*len(chatterLine)); got != want {
		t.Errorf("log has %d bytes, want %d", got, want)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("log mode %v", info.Mode())
	}
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
}
