//go:build unix

package launch

import (
	"context"
	"errors"
	"net"
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

	"evalctl/internal/awaittest"
)

func TestStartAndStop(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	d := e.start(t, e.profile("healthy"))
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
	if !slices.Contains(e.running(t), d.PID()) {
		t.Errorf("pid %d is not the daemon: %v", d.PID(), e.running(t))
	}
	watchdog := d.watchdog.cmd.Process.Pid
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			e.requireNoProcesses(t)
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
	awaittest.Receive(t, "d.Done", d.Done())
	if err := d.Err(); err != nil {
		t.Errorf("error after Stop: %v", err)
	}
	if err := syscall.Kill(watchdog, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the watchdog survived Stop: %v", err)
	}
}

func TestHealthyBodyIsNotJSON(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	if d := e.start(t, e.profile("plain")); d.Version() != "" {
		t.Errorf("version %q, want none", d.Version())
	}
}

func TestAnnouncedPort(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	p := e.profile("announce")
	p.Announces = true
	d := e.start(t, p)
	if strings.HasSuffix(d.URL(), ":0") || !strings.HasPrefix(d.URL(), "http://127.0.0.1:") {
		t.Errorf("url %s", d.URL())
	}
}

// An announced address must be served by the daemon itself.
func TestAnnouncedAddressOfOtherDaemon(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the owner of a socket")
	}
	stranger := newTestEnv(t)
	url := stranger.start(t, stranger.profile("healthy")).URL()
	e := newTestEnv(t)
	p := e.profile("liar", url)
	p.Announces = true
	d, err := Start(t.Context(), p, e.opts)
	if err == nil {
		_ = d.Stop()
	}
	wantError(t, err, "did not start", "listening on "+url)
}

func TestFixedPort(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e.opts.Port = l.Addr().(*net.TCPAddr).Port
	port := strconv.Itoa(e.opts.Port)
	_, err = Start(t.Context(), e.profile("healthy"), e.opts)
	wantError(t, err, "port "+port, "in use")
	if entries, _ := os.ReadDir(e.pids); len(entries) > 0 {
		t.Error("a daemon was started for a port that is in use")
	}
	l.Close()
	if d := e.start(t, e.profile("healthy")); d.URL() != "http://127.0.0.1:"+port {
		t.Errorf("url %s, want port %s", d.URL(), port)
	}
}

func TestPortStolen(t *testing.T) {
	for _, fate := range []string{"ends", "stays", "passes"} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			if fate == "stays" && runtime.GOOS != "linux" {
				t.Skip("only Linux shows the owner of a socket")
			}
			e := newTestEnv(t)
			memory := filepath.Join(t.TempDir(), "stranger")
			if fate != "passes" {
				stranger := exec.Command(e.self, "role:stranger", memory)
				if err := stranger.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
			}
			d := e.start(t, e.profile("thief", memory, fate))
			if d.Version() != "ours" {
				t.Errorf("the response from %s is not the daemon's", d.URL())
			}
		})
	}
}

// A server that has left the groups and the environment of the command belongs to the daemon.
func TestDetachedServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds such a process")
	}
	e := newTestEnv(t)
	d := e.start(t, e.profile("detached"))
	if got := len(e.running(t)); got != 2 {
		t.Errorf("%d processes", got)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	e.requireNoProcesses(t)
}

func TestEarlyExit(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	_, err := Start(t.Context(), e.profile("crash"), e.opts)
	wantError(t, err, "exit status 3", e.opts.LogPath, `line 10 \x1b]0;title\a`, "line 29")
	for _, text := range []string{"line 9 ", "\x1b", "\a"} {
		if strings.Contains(err.Error(), text) {
			t.Errorf("error has %q:\n%v", text, err)
		}
	}
}

func TestCancelDuringStart(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := e.wrapped("unready", "stubborn")
	started := make(chan error)
	go func() {
		_, err := Start(ctx, p, e.opts)
		started <- err
	}()
	awaittest.Until(t, "daemon", func() bool { return len(e.running(t)) == 2 })
	cancel(cause)
	if err := awaittest.Receive(t, "started", started); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	e.requireNoProcesses(t)
	if _, err := Start(ctx, p, e.opts); !errors.Is(err, cause) {
		t.Errorf("already cancelled: error %v, want %v", err, cause)
	}
}

// The daemon outlives the context of Start.
func TestContextBoundsStartOnly(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	ctx, cancel := context.WithCancel(t.Context())
	d, err := Start(ctx, e.profile("healthy"), e.opts)
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
	e := newTestEnv(t)
	d := e.start(t, e.profile("chatter"))
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(e.opts.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Size(), int64(2*chatterLines*len(chatterLine)); got != want {
		t.Errorf("log has %d bytes, want %d", got, want)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("log mode %v", info.Mode())
	}
}
