package conformance

import (
	"errors"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/internal/llm"
)

// manyGroups are all groups but limits, which moves megabytes.
var manyGroups = []string{
	"brains", "documents", "records", "listing", "batch", "paths", "errors", "headers", "events", "auth", "search", "ask",
}

// crashing serves the reference daemon until a request matches. Then its listener and all its
// connections are closed at once, as when a process dies.
func crashing(t *testing.T, match func(*http.Request) bool) string {
	t.Helper()
	d, err := daemon.New(t.Context(), daemon.Config{Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if match(r) {
			_ = srv.Close()
			panic(http.ErrAbortHandler)
		}
		d.Handler().ServeHTTP(w, r)
	})
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(ln) })
	t.Cleanup(func() {
		_ = srv.Close()
		served.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

// A daemon that dies ends the run: nothing is broken, and the report names the check that ran.
func TestCrash(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	for name, tt := range map[string]struct {
		match    func(*http.Request) bool
		only     []string
		parallel int
		after    string // if only one check can be the one
	}{
		"on the 200th request": {match: func(*http.Request) bool { return requests.Add(1) == 200 },
			only: manyGroups, parallel: 4},
		"on an aborted upload": {match: neverSent,
			only: []string{"limits-413-*", "limits-put-declared-413", "limits-gzip*", "listing"}, parallel: 1,
			after: "limits-put-declared-413"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Run(t.Context(), Options{
				Endpoint: crashing(t, tt.match), Only: tt.only, Parallel: tt.parallel, Timeout: timeout,
			})
			if !errors.Is(err, ErrDied) || len(r.Deaths) != 1 || !r.Partial {
				t.Fatalf("death %v, partial %v: %v", r.Deaths, r.Partial, err)
			}
			if r.Deaths[0].After == "" || tt.after != "" && r.Deaths[0].After != tt.after {
				t.Errorf("died after %q", r.Deaths[0].After)
			}
			if !strings.Contains(r.Deaths[0].Cause, "refused") || !strings.Contains(err.Error(), r.Deaths[0].After) {
				t.Errorf("cause %q, error %v", r.Deaths[0].Cause, err)
			}
			for _, res := range r.Results {
				if res.Verdict == Broken {
					t.Errorf("%s is broken: %s", res.ID, res.Detail)
				}
				if res.ID == r.Deaths[0].After && res.Reason != ReasonTransport {
					t.Errorf("%s: %s %s", res.ID, res.Verdict, res.Reason)
				}
			}
			if n := r.Count("", Must, Kept); n == 0 || len(r.Results) == r.Planned {
				t.Errorf("%d kept, %d of %d results", n, len(r.Results), r.Planned)
			}
		})
	}
}

// process is a daemon's process that ended.
type process struct{ done chan struct{} }

func (p process) Done() <-chan struct{} { return p.done }
func (p process) Err() error            { return errors.New("exit status 2; its last line: out of memory") }

// The end of a started daemon's process ends the run, with what the process left.
func TestProcessEnds(t *testing.T) {
	p := process{make(chan struct{})}
	var once sync.Once
	url := crashing(t, func(r *http.Request) bool {
		crash := route("POST /documents/append")(r)
		if crash {
			once.Do(func() { close(p.done) })
		}
		return crash
	})
	r, err := Run(t.Context(), Options{Endpoint: url, Only: []string{"documents"}, Parallel: 1, Process: p, Timeout: timeout})
	if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "out of memory") ||
		r.Deaths[0].After != "documents-read-fresh" {
		t.Errorf("death %+v: %v", r.Deaths, err)
	}
}

// A check that timed out beside others is run again alone, and only that counts.
func TestSlowBesideOthers(t *testing.T) {
	t.Parallel()
	var brains atomic.Int64 // each check has one
	busy := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch parent, _ := path.Split(r.URL.Path); {
			case r.Method == http.MethodPost && r.URL.Path == "/v1/brains":
				defer brains.Add(1)
			case r.Method == http.MethodDelete && parent == "/v1/brains/":
				defer brains.Add(-1)
			case brains.Load() > 1 && r.Method == http.MethodPut:
				readBody(r) // only then does the server notice that the client is gone
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	o := authOptions(serve(t, keys(t), busy))
	o.Only, o.Parallel, o.Timeout = []string{"documents-put-keeps-others", "documents-rename-*"}, 8, 3*time.Second
	r := run(t, o)
	alone := 0
	for _, res := range r.Results {
		if res.Verdict != Kept {
			t.Errorf("%s is %s: %s", res.ID, res.Verdict, res.Detail)
		}
		if res.Alone {
			alone++
		}
	}
	if alone == 0 {
		t.Error("no check timed out beside others: the test tests nothing")
	}
}

// A route that never answers is not judged, however many checks need it.
func TestHanging(t *testing.T) {
	hanging := replace(route("POST /documents/append"), func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		readBody(r) // only then does the server notice that the client is gone
		<-r.Context().Done()
	})
	o := authOptions(serve(t, keys(t), hanging))
	o.Only, o.Timeout = []string{"documents-append-*", "documents-put-204"}, 300*time.Millisecond
	r := run(t, o)
	if n := r.Count("", Must, Broken); n > 0 || r.NotJudged() < 6 || r.Count("", Must, Kept) == 0 || len(r.Deaths) > 0 {
		t.Errorf("%d broken, %d not judged, death %v", n, r.NotJudged(), r.Deaths)
	}
	for _, res := range r.Results {
		if res.Verdict == NotJudged && (res.Reason != ReasonTimeout || !strings.Contains(res.Detail, "timed out")) {
			t.Errorf("%s: %s %s", res.ID, res.Reason, res.Detail)
		}
	}
}
