//go:build unix

package harness_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness"
	"evalctl/harness/daemontest"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
)

const token = "evk_secret-of-the-test"

// service returns the configuration of a session with a daemon that this test binary plays. Its
// temporary directories are in the returned one.
func service(t *testing.T, args ...string) (c harness.SessionConfig, temp string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp = t.TempDir()
	t.Setenv("TMPDIR", temp)
	return harness.SessionConfig{
		Token: token, UserAgent: "evalctl-test", Concurrency: 2,
		Profile: launch.Profile{
			Command: append([]string{self, "role:service", "{addr}"}, args...),
			Env:     []string{"SECRET=" + token},
		},
		Launch: launch.Options{Watchdog: []string{self, "role:watchdog"}},
	}, temp
}

func open(t *testing.T, c harness.SessionConfig) *harness.Session {
	t.Helper()
	s, err := harness.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pid returns the process id that a daemon has written to its home.
func pid(t *testing.T, home string) int {
	t.Helper()
	text := filetest.Read(t, filepath.Join(home, "PID"))
	n, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func entries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestSessionStarts: a daemon without a given home gets an empty one, which Close removes.
func TestSessionStarts(t *testing.T) {
	c, temp := service(t)
	s := open(t, c)
	want := result.StartedDaemon(c.Profile.Command)
	want.Version = "1.2.3"
	if s.ID() != want || !s.Started() || s.Process() == nil {
		t.Errorf("got %+v, started %v, process %v", s.ID(), s.Started(), s.Process())
	}
	if v, err := s.Service().Health(t.Context()); err != nil || v != "1.2.3" || s.Service().URL() != s.Process().URL() {
		t.Errorf("version %q of %s, %v", v, s.Service().URL(), err)
	}
	dir := filepath.Dir(s.LogPath())
	if filepath.Dir(dir) != temp {
		t.Fatalf("the log is %s", s.LogPath())
	}
	home := filepath.Join(dir, "data")
	if got := entries(t, home); len(got) != 1 {
		t.Errorf("the home has %v", got)
	}
	if log, err := os.ReadFile(s.LogPath()); err != nil || !strings.Contains(string(log), "the token is") {
		t.Errorf("log %q, %v", log, err)
	}
	served := pid(t, home)
	var wg sync.WaitGroup
	for range 3 { // concurrent and repeated
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if !gone(served) {
				t.Errorf("process %d is left", served)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	awaittest.Wait(t, "the goroutines", wg.Wait)
}

// TestSessionKeepsGivenPaths: a home and a log that were given outlive the session.
func TestSessionKeepsGivenPaths(t *testing.T) {
	c, temp := service(t)
	dir := t.TempDir()
	c.Launch.Home, c.Launch.LogPath = filepath.Join(dir, "home"), filepath.Join(dir, "logs", "daemon.log")
	c.Command = []string{"evalctl", "serve"}
	if err := os.Mkdir(c.Launch.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, c)
	if s.LogPath() != c.Launch.LogPath || s.ID().Program != "evalctl" {
		t.Errorf("log %s of %+v", s.LogPath(), s.ID())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, temp); len(got) != 0 { // such as the home of the daemon's user
		t.Errorf("temporary %v", got)
	}
	if !gone(pid(t, c.Launch.Home)) {
		t.Error("the daemon is left")
	}
	if _, err := os.Stat(c.Launch.LogPath); err != nil {
		t.Error(err)
	}
}

// TestSessionTemporaryPaths: with only one of the two given, the other one is temporary.
func TestSessionTemporaryPaths(t *testing.T) {
	c, temp := service(t)
	c.Launch.Home = t.TempDir()
	s := open(t, c)
	if got := entries(t, temp); len(got) != 1 || !strings.HasPrefix(s.LogPath(), temp) {
		t.Errorf("log %s, temporary %v", s.LogPath(), got)
	}
	if err := s.Close(); err != nil || len(entries(t, temp)) != 0 || len(entries(t, c.Launch.Home)) != 1 {
		t.Errorf("close: %v, temporary %v", err, entries(t, temp))
	}
}

// TestSessionReaches: a running daemon is neither started, watched nor stopped.
func TestSessionReaches(t *testing.T) {
	d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		_, _ = io.WriteString(w, `{"ok":true,"version":"3.1"}`)
	})
	c := harness.SessionConfig{Endpoint: d.URL + "/", Token: token, UserAgent: "evalctl-test", Concurrency: 1}
	s := open(t, c)
	if want := (result.DaemonID{Endpoint: d.URL, Version: "3.1"}); s.ID() != want {
		t.Errorf("got %+v", s.ID())
	}
	if s.Started() || s.Process() != nil || s.LogPath() != "" {
		t.Errorf("started %v, process %v, log %q", s.Started(), s.Process(), s.LogPath())
	}
	call := d.Calls()[0]
	if call.Header.Get("Authorization") != "Bearer "+token || call.Header.Get("User-Agent") != "evalctl-test" {
		t.Errorf("header %v", call.Header)
	}
	ctx, cancel := s.Watch(t.Context())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if ctx.Err() != nil {
		t.Error(context.Cause(ctx))
	}
	cancel()
	if !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Error(context.Cause(ctx))
	}
	if _, err := open(t, c).Service().Health(t.Context()); err != nil {
		t.Errorf("the daemon is gone: %v", err)
	}
}

// TestSessionFails: a start that fails leaves nothing behind, and the token is not in the error.
// dialed is a service with a protocol of its own.
type dialed struct {
	target.Service
	url string
}

func (d dialed) URL() string                            { return d.url }
func (d dialed) Health(context.Context) (string, error) { return "7", nil }
func (d dialed) Close()                                 {}

func TestSessionDials(t *testing.T) {
	s := open(t, harness.SessionConfig{
		Endpoint: "folder:notes", Dial: func(url string) (target.Service, error) { return dialed{url: url}, nil },
	})
	if _, ok := s.Service().(dialed); !ok {
		t.Errorf("got %T", s.Service())
	}
	if want := (result.DaemonID{Endpoint: "folder:notes", Version: "7"}); !cmp.Equal(s.ID(), want) {
		t.Errorf("got %+v", s.ID())
	}
}

func TestSessionFails(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		change func(*harness.SessionConfig)
		want   string
	}{
		"ends":         {[]string{"3"}, func(*harness.SessionConfig) {}, "exit status 3"},
		"no such file": {nil, func(c *harness.SessionConfig) { c.Profile.Command[0] += "-missing" }, "-missing"},
		"no port":      {nil, func(c *harness.SessionConfig) { c.Profile.Command = c.Profile.Command[:2] }, "port"},
		"no command":   {nil, func(c *harness.SessionConfig) { c.Profile.Command = nil }, "neither an endpoint nor a command"},
		"no log":       {nil, func(c *harness.SessionConfig) { c.Launch.LogPath = "/dev/null/log" }, "/dev/null"},
	} {
		t.Run(name, func(t *testing.T) {
			c, temp := service(t, tt.args...)
			c.Launch.Home = t.TempDir()
			tt.change(&c)
			s, err := harness.Open(t.Context(), c)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it opened"), s.Close()))
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), token) {
				t.Errorf("got %v", err)
			}
			if left := entries(t, temp); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
			if tt.args != nil && (!gone(pid(t, c.Launch.Home)) || !strings.Contains(err.Error(), "the token is [token]")) {
				t.Errorf("the daemon is left, or its log is missing: %v", err)
			}
		})
	}
}

func TestSessionCannotReach(t *testing.T) {
	d := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		http.Error(w, "wrong: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	})
	s, err := harness.Open(t.Context(), harness.SessionConfig{Endpoint: d.URL, Token: token, Concurrency: 1})
	if err == nil || s != nil || !strings.Contains(err.Error(), d.URL) || !strings.Contains(err.Error(), "wrong: Bearer [token]") {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := harness.Open(t.Context(), harness.SessionConfig{Endpoint: "ftp://x"}); err == nil || !strings.Contains(err.Error(), "ftp://x") {
		t.Errorf("got %v", err)
	}
}

func TestSessionWithoutHome(t *testing.T) {
	c, temp := service(t)
	t.Setenv("TMPDIR", filepath.Join(temp, "missing"))
	if _, err := harness.Open(t.Context(), c); !errors.Is(err, harness.ErrHome) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestSessionIsCancelled: the end of the context while a daemon starts is the error.
func TestSessionIsCancelled(t *testing.T) {
	c, temp := service(t)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := harness.Open(ctx, c); !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := entries(t, temp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSessionWatch: the context ends with the daemon's process, and the cause says how that ended.
func TestSessionWatch(t *testing.T) {
	c, _ := service(t)
	s := open(t, c)
	ctx, cancel := s.Watch(t.Context())
	defer cancel()
	other, cancelOther := s.Watch(t.Context())
	cancelOther()
	if !errors.Is(context.Cause(other), context.Canceled) || ctx.Err() != nil {
		t.Errorf("causes %v, %v", context.Cause(other), context.Cause(ctx))
	}
	if res, err := http.Get(s.Service().URL() + "/exit"); err == nil {
		res.Body.Close()
	}
	awaittest.Receive(t, "ctx.Done", ctx.Done())
	cause := context.Cause(ctx)
	if !errors.Is(cause, harness.ErrDaemonDied) {
		t.Fatal(cause)
	}
	for _, want := range []string{"exit status 7", "the token is [token]"} {
		if !strings.Contains(cause.Error(), want) {
			t.Errorf("%q is missing: %v", want, cause)
		}
	}
	if strings.Contains(cause.Error(), token) {
		t.Error(cause)
	}
}

// TestSessionWatchRestart: after a restart that failed, the cause says why there is no daemon.
func TestSessionWatchRestart(t *testing.T) {
	c, _ := service(t)
	s := open(t, c)
	watched, cancel := s.Watch(t.Context())
	defer cancel()
	enough := errors.New("enough")
	ctx, end := context.WithCancelCause(t.Context())
	end(enough)
	failed := s.Restart(ctx)
	awaittest.Receive(t, "watched.Done", watched.Done())
	cause := context.Cause(watched)
	if failed == nil || !errors.Is(cause, harness.ErrDaemonDied) || !strings.Contains(cause.Error(), failed.Error()) {
		t.Errorf("the restart failed with %v, the context ended with %v", failed, cause)
	}
}

// TestSessionWatchParent: the parent's cause is the context's cause.
func TestSessionWatchParent(t *testing.T) {
	c, _ := service(t)
	s := open(t, c)
	enough := errors.New("enough")
	parent, end := context.WithCancelCause(t.Context())
	ctx, cancel := s.Watch(parent)
	defer cancel()
	end(enough)
	awaittest.Receive(t, "ctx.Done", ctx.Done())
	if !errors.Is(context.Cause(ctx), enough) {
		t.Error(context.Cause(ctx))
	}
	closed, cancel := s.Watch(t.Context())
	defer cancel()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	awaittest.Receive(t, "closed.Done", closed.Done())
	if !errors.Is(context.Cause(closed), harness.ErrDaemonDied) {
		t.Error(context.Cause(closed))
	}
}

func TestDaemonID(t *testing.T) {
	command := launch.Profile{Command: []string{"python3", "daemon.py", "{addr}"}}
	for name, tt := range map[string]struct {
		config harness.SessionConfig
		want   result.DaemonID
		err    string
	}{
		"endpoint":    {harness.SessionConfig{Endpoint: "http://h:1/v/", Profile: command}, result.DaemonID{Endpoint: "http://h:1/v"}, ""},
		"profile":     {harness.SessionConfig{Profile: command}, result.StartedDaemon(command.Command), ""},
		"command":     {harness.SessionConfig{Profile: command, Command: []string{"x"}}, result.StartedDaemon([]string{"x"}), ""},
		"nothing":     {harness.SessionConfig{}, result.DaemonID{}, "neither an endpoint nor a command"},
		"credentials": {harness.SessionConfig{Endpoint: "http://u:" + token + "@h"}, result.DaemonID{}, "user or password"},
	} {
		got, err := tt.config.DaemonID()
		if got != tt.want || (err == nil) != (tt.err == "") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), token)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
