package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon"
	ct "evalctl/harness/conformance/conformancetest"
	"evalctl/harness/launch"
	"evalctl/internal/llm"
)

// Variables of a process of this test binary that is a daemon: how it dies, and a file that says
// that it died before.
const (
	mortalDaemon = "CONFORMANCE_TEST_DIES"
	mortalMarker = "CONFORMANCE_TEST_DIED"
)

// serveMortal serves the reference daemon in this process until something makes it die.
func serveMortal(how, marker string) error {
	d, err := daemon.New(context.Background(), daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("evalctl: listening on http://%s\n", ln.Addr())
	srv := &http.Server{Handler: mortal(how, marker, d.Handler()), ReadHeaderTimeout: time.Minute}
	return srv.Serve(ln)
}

func mortal(how, marker string, next http.Handler) http.Handler {
	var requests atomic.Int32
	var isIll atomic.Bool
	exit := func() {
		fmt.Fprintln(os.Stderr, "panic: the disk is full")
		os.Exit(2)
	}
	if _, err := os.Stat(marker); how == crashAtRequest && err != nil {
		return ct.CrashAt(250, func() { _ = os.WriteFile(marker, nil, 0o600); exit() })(next)
	}
	if how == crashOnAbort {
		return ct.CrashOnAbort(exit)(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := os.Stat(marker)
		isFirst := err != nil
		switch {
		case how == "on searches" && strings.HasSuffix(r.URL.Path, "/search"),
			how == "on brains" && r.Method == http.MethodPost && r.URL.Path == "/v1/brains",
			how == "once on searches" && isFirst && strings.HasSuffix(r.URL.Path, "/search"):
			_ = os.WriteFile(marker, nil, 0o600)
			exit()
		case how == "on an upload" && neverSent(r),
			how == "on renames" && route("POST /documents/rename")(r):
			exit()
		case how == "on the 30th request" && requests.Add(1) == 30,
			how == "once" && isFirst && requests.Add(1) == 60:
			_ = os.WriteFile(marker, nil, 0o600)
			exit()
		case how == "after an answer" && route("POST /documents/append")(r):
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.WriteHeader(answer.Code) // 204: it has no body
			_ = http.NewResponseController(w).Flush()
			exit()
		case how == "of an illness" && isFirst && route("POST /documents/append")(r):
			_ = os.WriteFile(marker, nil, 0o600)
			isIll.Store(true)
		case how == "for good" && !isFirst:
			exit()
		case how == "for good" && route("POST /documents/append")(r):
			_ = os.WriteFile(marker, nil, 0o600)
			exit()
		}
		if isIll.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// startMortal starts a daemon that dies, and returns options that restart it.
func startMortal(t *testing.T, how string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	profile := launch.Profile{Command: []string{self, "{addr}"}, Announces: true,
		Env: []string{mortalDaemon + "=" + how, mortalMarker + "=" + filepath.Join(dir, "died")}}
	var d *launch.Daemon
	start := func(ctx context.Context) (string, Process, error) {
		if d != nil {
			_ = d.Stop()
		}
		started, err := launch.Start(ctx, profile, launch.Options{
			LogPath: filepath.Join(dir, "log"), HealthTimeout: timeout, Watchdog: []string{self, "watchdog"},
		})
		if err != nil {
			return "", nil, err
		}
		d = started
		return d.URL(), d, nil
	}
	url, p, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	return Options{
		Endpoint: url, MCP: url + "/mcp", Process: p, Restart: start, Log: func() string { return d.LastLines() },
		Timeout: timeout,
	}
}

// A daemon that was started for the run is started again when it dies, and the run goes on.
func TestRestart(t *testing.T) {
	t.Parallel()
	for how, tt := range map[string]struct {
		only      []string
		killer    string // "" if it is not to be found
		cause     string // instead of what the log says
		deaths    int
		notJudged int
		isPartial bool
	}{
		"on an upload": {only: []string{"limits-413-*", "limits-put-declared-413", "documents-put-*", "mcp-search-s*"},
			killer: "limits-put-declared-413", notJudged: 1},
		"after an answer": {only: []string{"documents-put-*", "documents-append-204", "search-200"},
			killer: "documents-append-204"},
		"once":          {only: []string{"documents", "errors"}},
		"of an illness": {only: []string{"documents"}, cause: "GET /healthz returned 500"},
		"on renames": {only: []string{"documents"}, killer: "documents-rename-*", deaths: 2, isPartial: true,
			notJudged: 2},
		"for good": {only: []string{"documents"}, cause: "could not be restarted", isPartial: true, notJudged: 1},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			o := startMortal(t, how)
			o.Only, o.Parallel = tt.only, 4
			if tt.isPartial {
				o.Parallel = 1
			}
			reported := map[string]int{}
			o.Done = func(r Result) { reported[r.ID]++ }
			started := time.Now()
			r, err := Run(t.Context(), o)
			if !errors.Is(err, ErrDied) || len(r.Deaths) != cmp.Or(tt.deaths, 1) || r.Partial != tt.isPartial {
				t.Fatalf("%d deaths, partial %v, after %v: %v", len(r.Deaths), r.Partial, time.Since(started), err)
			}
			death := r.Deaths[0]
			if ok, _ := filepath.Match(tt.killer, death.Killer); !ok || death.After == "" && tt.killer == "" || death.Request == "" {
				t.Errorf("death %+v, want the killer %q", death, tt.killer)
			}
			if !strings.Contains(death.Cause, cmp.Or(tt.cause, "the disk is full")) || !strings.Contains(err.Error(), death.Cause) {
				t.Errorf("cause %q of %v", death.Cause, err)
			}
			if tt.isPartial != !strings.Contains(err.Error(), "verdicts hold") {
				t.Errorf("partial %v: %v", tt.isPartial, err)
			}
			wantDeathFinding(t, r)
			for _, res := range r.Results {
				if res.Verdict == Broken || res.Verdict == NotJudged && res.Reason != ReasonTransport {
					t.Errorf("%s is %s: %s %s", res.ID, res.Verdict, res.Reason, res.Detail)
				}
				if reported[res.ID] != 1 {
					t.Errorf("%s was reported %d times", res.ID, reported[res.ID])
				}
			}
			if n := r.NotJudged(); n != tt.notJudged {
				t.Errorf("%d not judged, want %d", n, tt.notJudged)
			}
			if !r.Partial && len(r.BrainsLeft) > 0 {
				t.Errorf("brains left: %q", r.BrainsLeft)
			}
		})
	}
}

// A daemon that evalctl did not start, and that dies after the last check, was not restarted.
func TestDeathAtTheEnd(t *testing.T) {
	t.Parallel()
	var isChecked, isIll atomic.Bool
	o := Options{Only: []string{"documents-put-204"}, Endpoint: serve(t, nil, before(anyRequest, func(r *http.Request) {
		switch {
		case r.URL.Query().Get("path") == "a.md":
			isChecked.Store(true)
		case r.URL.Path == "/healthz" && isIll.Load():
			panic(http.ErrAbortHandler)
		case route("DELETE ")(r) && isChecked.Load():
			isIll.Store(true)
		}
	})), Timeout: timeout}
	r, err := Run(t.Context(), o)
	if !errors.Is(err, ErrDied) || len(r.Deaths) != 1 || r.Partial || len(r.Results) != 1 || r.Results[0].Verdict != Kept {
		t.Fatalf("deaths %+v, results %+v: %v", r.Deaths, r.Results, err)
	}
	if text := err.Error(); strings.Contains(text, "restarted") || !strings.Contains(text, "verdicts hold") {
		t.Error(text)
	}
}

// A daemon that dies before the checks is restarted too, and its death is reported with its log.
func TestDeathInProbe(t *testing.T) {
	t.Parallel()
	for how, tt := range map[string]struct {
		deaths    int
		finding   string
		isPartial bool
	}{
		"on searches":      {deaths: 2, finding: "the daemon died during search-200"},
		"once on searches": {deaths: 1, finding: "the daemon died"},
		"on brains":        {deaths: 2, finding: "the daemon died", isPartial: true},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			o := startMortal(t, how)
			o.Only = []string{"search-200", "documents-put-204"}
			r, err := Run(t.Context(), o)
			if !errors.Is(err, ErrDied) || len(r.Deaths) != tt.deaths || r.Partial != tt.isPartial {
				t.Fatalf("deaths %+v, partial %v: %v", r.Deaths, r.Partial, err)
			}
			d := r.Deaths[0]
			if !d.Probing || !strings.Contains(d.Cause, "the disk is full") || !strings.HasPrefix(d.Request, "POST /v1/brains") ||
				!strings.Contains(err.Error(), "before the checks, at POST /v1/brains") {
				t.Errorf("death %+v: %v", d, err)
			}
			if len(r.Findings) != 1 || r.Findings[0].Cause != tt.finding || r.Findings[0].Level != Must {
				t.Errorf("findings %+v", r.Findings)
			}
		})
	}
}

// wantDeathFinding requires the first finding to be about the first death, with evidence, and
// nothing else to be found but another death.
func wantDeathFinding(t *testing.T, r Report) {
	t.Helper()
	if len(r.Findings) != len(r.Deaths) {
		t.Fatalf("%d findings of %d deaths: %+v", len(r.Findings), len(r.Deaths), r.Findings)
	}
	f, d := r.Findings[0], r.Deaths[0]
	if !strings.HasPrefix(f.Cause, "the daemon died") || f.Request == "" || !strings.Contains(f.Detail, d.Cause) {
		t.Errorf("finding %+v", f)
	}
	if d.Killer != "" && (!slices.Equal(f.Checks, []string{d.Killer}) || f.Sentence == "" || !strings.Contains(f.Cause, d.Killer)) {
		t.Errorf("finding %+v of the killer %s", f, d.Killer)
	}
	if d.Killer == "" && (!slices.Contains(f.Checks, d.After) || f.Sentence != "") {
		t.Errorf("finding %+v of a death after %s", f, d.After)
	}
}
