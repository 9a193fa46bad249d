//go:build unix

package launch

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStartFailures(t *testing.T) {
	e := newTestEnv(t)
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
		{name: "unready", profile: e.profile("unready"),
			want: []string{"healthy within ", "status 503", `warming\x1b[2J up`, "wrote nothing", e.opts.LogPath}},
		{name: "not ok", profile: e.profile("notok"), want: []string{"healthy within", `{"ok":false}`}},
		{name: "redirect", profile: e.profile("redirect", stranger.Addr().String()), want: []string{"status 302"}},
		{name: "silent", profile: e.profile("silent"), want: []string{"no response to the last request"}},
		{name: "rejects its arguments", profile: Profile{Command: []string{"sleep", "1000", "{addr}"}},
			want: []string{"daemon (pid", "exit status 1"}},
		{name: "no listener", profile: Profile{Command: []string{"sh", "-c", "sleep 1000; echo {addr}"}},
			want: []string{"refused", "127.0.0.1:"}},
		{name: "nothing announced",
			profile: Profile{Command: []string{"sh", "-c", "sleep 1000; echo {addr}"}, Announces: true},
			want:    []string{"announced no address"}},
		{name: "no placeholder for the port", profile: Profile{Command: []string{"sleep", "1000"}},
			want: []string{"no {addr} or {port}", errNotConfigured.Error()}},
		{name: "no such program", profile: Profile{Command: []string{"/nowhere/daemon", "{addr}"}},
			want: []string{"/nowhere/daemon", "no such file"}},
		{name: "no command", profile: Profile{}, want: []string{errNotConfigured.Error()}},
		{name: "no log", profile: e.profile("healthy"), change: func(o *Options) { o.LogPath = "" },
			want: []string{"no log path"}},
		{name: "no such directory", profile: Profile{Command: []string{"true", "{addr}"}, Dir: "/nowhere"},
			want: []string{"/nowhere"}},
		{name: "watchdog is missing", profile: e.profile("healthy"),
			change: func(o *Options) { o.Watchdog = []string{"/nowhere/watchdog"} },
			want:   []string{"watchdog", "/nowhere/watchdog"}},
		{name: "watchdog exits", profile: e.profile("healthy"),
			change: func(o *Options) { o.Watchdog = []string{e.self, "role:notwatchdog"} },
			want:   []string{"watchdog", "exit status 1", "no such command"}},
		{name: "watchdog is another command", profile: e.profile("healthy"),
			change: func(o *Options) { o.Watchdog = []string{"sh", "-c", "echo hello; sleep 1000"} },
			want:   []string{"watchdog", `hello`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := e.opts
			if test.change != nil {
				test.change(&o)
			}
			// A busy machine may need longer to reach the expected failure.
			for o.HealthTimeout = 200 * time.Millisecond; ; o.HealthTimeout *= 2 {
				d, err := Start(t.Context(), test.profile, o)
				if err == nil {
					_ = d.Stop()
				}
				e.requireNoProcesses(t)
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
