package conformance

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path"
	"slices"
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

// TestOneDefect runs the checks against daemons that misbehave as daemons do: the report accuses
// them of that defect and of nothing else.
func TestOneDefect(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wrap   wrapper
		only   []string
		broken []string // must be broken
		may    []string // globs over the ids of checks about the defect, which may be broken
		left   bool     // brains are left behind
	}{
		{name: "nothing", wrap: unbroken},
		{name: "delay", wrap: delayed(300 * time.Millisecond),
			only: []string{"documents-put-*", "events-created", "events-ready", "search-finds", "ask-200", "brains-create-*"}},
		{name: "no DELETE of brains", wrap: replace(isBrainDeletion, reject(405)), left: true,
			broken: []string{"brains-delete-204"}, may: []string{"brains-delete-*"}},
		{name: "DELETE of brains fails", wrap: replace(isBrainDeletion, reject(500)), left: true,
			broken: []string{"brains-delete-204"}, may: []string{"brains-delete-*"}},
		{name: "500 for renames", wrap: replace(route("POST /documents/rename"), reject(500)),
			broken: []string{"documents-rename-204", "errors-status-rename-missing"},
			may:    []string{"*-rename-*", "paths-rename-*"}},
		{name: "500 for stat", wrap: replace(route("GET /documents/stat"), reject(500)),
			broken: []string{"documents-stat-200"}, may: []string{"*-stat-*", "headers-accept-json"}},
		{name: "500 for reads", wrap: replace(route("GET /documents/read"), reject(500)),
			broken: []string{"documents-read-200"},
			may: []string{"*-read-*", "auth-token-200", "auth-malformed-*", "auth-scheme-case", "*-tenant-*", "headers-*",
				"documents-brain-*", "paths-twice-400", "paths-malformed-400"}},
		{name: "500 for listings", wrap: replace(route("GET /documents"), reject(500)),
			broken: []string{"listing-200"}, may: []string{"*-listing-*", "paths-dir-*"}},
		{name: "500 for searches", wrap: replace(route("POST /search"), reject(500)),
			broken: []string{"search-200"}, may: []string{"search-*", "*-search-*"}},
		{name: "500 for streams", wrap: replace(route("GET /events"), reject(500)),
			broken: []string{"events-200"}, may: []string{"auth-events-*", "auth-tenant-events-*", "events-brain-missing"}},
		{name: "its own files in listings", wrap: stray(".search.db", ".search.db-wal"),
			broken: []string{"listing-only-documents"}},
		{name: "folders in recursive listings", wrap: folderRows(), broken: []string{"listing-recursive-no-folders"}},
		{name: "listings without an envelope", wrap: after(and(route("GET /documents"), func(r *http.Request) bool {
			return r.URL.RawQuery != ""
		}), func(_ *http.Request, a *captured) {
			var o map[string]any
			if json.Unmarshal(a.body.Bytes(), &o) == nil && o["items"] != nil {
				a.setText(string(encode(o["items"])))
			}
		}), broken: []string{"listing-items", "listing-empty"}, may: []string{"records-listing-parameter"}},
		{name: "another shape of brains", wrap: otherBrains(), only: []string{"documents", "events", "listing"}},
		{name: "rate limit", wrap: replace(route("POST /documents/append"), reject(429))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, "", keys(t), tt.wrap))
			o.Only, o.Parallel = tt.only, 8
			if tt.only == nil {
				o.Only = manyGroups
			}
			r := run(t, o)
			for _, res := range r.Results {
				isBroken := res.Verdict == Broken
				if isBroken && !slices.Contains(tt.broken, res.ID) && !matchesAny(tt.may, res.ID) {
					t.Errorf("%s is broken: %s [%s]", res.ID, res.Detail, res.Request)
				}
				if !isBroken && slices.Contains(tt.broken, res.ID) {
					t.Errorf("%s is %s: %s", res.ID, res.Verdict, res.Detail)
				}
				if (res.Reason == "") == (res.Verdict == NotJudged) {
					t.Errorf("%s is %s with the reason %q", res.ID, res.Verdict, res.Reason)
				}
			}
			if len(r.Deaths) > 0 || r.Partial || tt.left != (len(r.BrainsLeft) > 0) {
				t.Errorf("death %v, partial %v, brains left: %d", r.Deaths, r.Partial, len(r.BrainsLeft))
			}
		})
	}
}

func isBrainDeletion(r *http.Request) bool { return route("DELETE ")(r) }

// delayed answers every request late.
func delayed(by time.Duration) wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(by)
			next.ServeHTTP(w, r)
		})
	}
}

// editListing changes the items of listings of paths.
func editListing(change func(r *http.Request, items []any) []any) wrapper {
	return after(and(route("GET /documents"), func(r *http.Request) bool { return r.URL.RawQuery != "" }),
		func(r *http.Request, a *captured) {
			a.edit(func(o map[string]any) {
				if items, ok := o["items"].([]any); ok {
					o["items"] = change(r, items)
				}
			})
		})
}

func sortedByPath(items []any) []any {
	slices.SortFunc(items, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["path"].(string), b.(map[string]any)["path"].(string))
	})
	return items
}

func row(p string, isDir bool) map[string]any {
	return map[string]any{"path": p, "size": 8, "mtime": "2024-01-01T00:00:00.000Z", "is_dir": isDir}
}

// stray adds files to every listing of a brain's root.
func stray(paths ...string) wrapper {
	return editListing(func(r *http.Request, items []any) []any {
		if r.URL.Query().Get("dir") == "" {
			for _, p := range paths {
				items = append(items, row(p, false))
			}
		}
		return sortedByPath(items)
	})
}

// folderRows adds the folders of documents to recursive listings.
func folderRows() wrapper {
	return editListing(func(r *http.Request, items []any) []any {
		if r.URL.Query().Get("recursive") != "true" {
			return items
		}
		folders := map[string]bool{}
		for _, item := range items {
			for p := path.Dir(item.(map[string]any)["path"].(string)); p != "."; p = path.Dir(p) {
				folders[p] = true
			}
		}
		for p := range folders {
			items = append(items, row(p, true))
		}
		return sortedByPath(items)
	})
}

// otherBrains accepts only a brainId and returns it as brain.brainId.
func otherBrains() wrapper {
	return replace(and(isBrains, func(r *http.Request) bool { return r.Method == http.MethodPost }),
		func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			o := bodyObject(r)
			if len(o) != 1 || o["brainId"] == nil {
				reject(400)(w, r, next)
				return
			}
			a := capture(next, r)
			a.edit(func(o map[string]any) {
				id := o["id"]
				clear(o)
				o["brain"] = map[string]any{"brainId": id}
			})
			a.send(w, r)
		})
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
			started := time.Now()
			r, err := Run(t.Context(), Options{
				Endpoint: crashing(t, tt.match), Only: tt.only, Parallel: tt.parallel, Timeout: timeout,
			})
			if !errors.Is(err, ErrDied) || len(r.Deaths) != 1 || !r.Partial || time.Since(started) > time.Minute {
				t.Fatalf("death %v, partial %v, after %v: %v", r.Deaths, r.Partial, time.Since(started), err)
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
	var one sync.Mutex
	single := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			one.Lock()
			defer one.Unlock()
			time.Sleep(40 * time.Millisecond)
			next.ServeHTTP(w, r)
		})
	}
	o := authOptions(serve(t, "", keys(t), single))
	o.Only, o.Parallel, o.Timeout = []string{"documents-put-keeps-others", "documents-rename-*"}, 8, 1200*time.Millisecond
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
	o := authOptions(serve(t, "", keys(t), hanging))
	o.Only, o.Timeout = []string{"documents-append-*", "documents-put-204"}, 300*time.Millisecond
	r := run(t, o)
	if n := r.Count("", Must, Broken); n > 0 || r.NotJudged("") < 6 || r.Count("", Must, Kept) == 0 || len(r.Deaths) > 0 {
		t.Errorf("%d broken, %d not judged, death %v", n, r.NotJudged(""), r.Deaths)
	}
	for _, res := range r.Results {
		if res.Verdict == NotJudged && (res.Reason != ReasonTimeout || !strings.Contains(res.Detail, "timed out")) {
			t.Errorf("%s: %s %s", res.ID, res.Reason, res.Detail)
		}
	}
}
