package conformance

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
)

var full = flag.Bool("full", false, "check the reference daemon 20 times, and run every check on every mutant")

// TestReferenceDaemon requires the reference daemon to pass on every store.
func TestReferenceDaemon(t *testing.T) {
	t.Parallel()
	runs := 1
	if *full {
		runs = 20
	}
	t.Run("memory with keys", func(t *testing.T) {
		for range runs {
			wantAllPass(t, runPatiently(t, authOptions(serve(t, keys(t), unbroken))), slowOrLocal...)
		}
	})
	t.Run("memory without keys", func(t *testing.T) {
		t.Parallel()
		o := Options{Endpoint: serve(t, nil, unbroken), Only: []string{"brains", "auth", "search"}}
		wantAllPass(t, runPatiently(t, o), "auth-*", "brains-tenant-*")
	})
	for _, kind := range []string{daemon.StoreFS, daemon.StoreGit} {
		t.Run(kind+" with keys", func(t *testing.T) {
			t.Parallel()
			for range runs {
				o := authOptions(serveConfig(t, daemon.Config{Home: t.TempDir(), Store: kind, Options: httpapi.Options{Keys: keys(t)}}, unbroken))
				if !*full { // disks are slow
					o.Only = []string{
						"auth", "batch", "events-renamed*", "documents-rename-*", "paths-distinct-*", "listing-sorted*",
					}
					if kind == daemon.StoreFS && !testing.Short() { // these were concurrent in memory
						o.Only = append(o.Only, "brains", "documents", "events", "search", "sessions", "ingest", "mcp")
					}
				}
				wantAllPass(t, runPatiently(t, o), slowOrLocal...)
			}
		})
	}
}

// slowOrLocal are the checks that need Options.Slow or a server on stdio.
var slowOrLocal = []string{"events-ping", "events-stays-open-idle", "ingest-25mib", "mcp-ingest-file-*"}

// wantAllPass requires the checks that match skipped to be skipped, and all others to pass.
func wantAllPass(t *testing.T, r Report, skipped ...string) {
	t.Helper()
	if len(r.Results) == 0 {
		t.Fatal("no results")
	}
	for _, res := range r.Results {
		want := Kept
		if matchesAny(skipped, res.ID) {
			want = NotJudged
		}
		if res.Verdict != want {
			t.Errorf("%s %s: want %s, got %s: %s [%s]", res.Level, res.ID, want, res.Verdict, res.Detail, res.Request)
		}
	}
}

func TestSelection(t *testing.T) {
	for _, tt := range []struct {
		only []string
		want []string
		err  error
	}{
		{[]string{"documents-read-missing-404"}, []string{"documents-read-missing-404"}, nil},
		{[]string{"ask-chunk-preview*", "ask-chunk-preview"}, []string{"ask-chunk-preview", "ask-chunk-preview-512"}, nil},
		{[]string{"ask-done", "brains-health-200"}, []string{"brains-health-200", "ask-done"}, nil},
		{[]string{"documents-nothing"}, nil, errNoCheck},
		{[]string{"brains", "["}, nil, errNoCheck},
	} {
		got, err := Checks(Full, tt.only)
		var ids []string
		for _, c := range got {
			ids = append(ids, c.ID)
		}
		if !slices.Equal(ids, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %q, %v", tt.only, ids, err)
		}
	}
	if _, err := (Options{MCP: "stdio:tools", Only: []string{"documents"}}).Planned(); !errors.Is(err, errOnlyTools) {
		t.Errorf("documents without an endpoint: %v", err)
	}
	if got, _ := Checks(Full, []string{"ask"}); len(got) < 20 || got[0].Group != "ask" {
		t.Errorf("group ask: %d checks", len(got))
	}
}

func TestRunErrors(t *testing.T) {
	rejecting := func(status int) string {
		return serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }),
			func() {})
	}
	keeping := serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}), func() {})
	for _, tt := range []struct{ endpoint, want string }{
		{"ftp://x", "endpoint \"ftp://x\" must be an http or https URL"},
		{"http://user:secret@x", "must not contain a user or password"},
		{rejecting(404), "create a brain: POST /v1/brains returned 404"},
		{rejecting(401), "returned 401"},
		{keeping, "delete the check's brain"},
		{"http://127.0.0.1:1", "refused"},
	} {
		_, err := Run(t.Context(), Options{Endpoint: tt.endpoint, Timeout: timeout})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", tt.endpoint, err, tt.want)
		}
		if strings.HasPrefix(tt.endpoint, "http://127") && !errors.Is(err, ErrUnusable) {
			t.Errorf("%s: %v is not ErrUnusable", tt.endpoint, err)
		}
	}
}

// An interrupted run reports the checks that finished and omits those that were interrupted.
func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	o := authOptions(serve(t, keys(t), unbroken))
	o.Only, o.Parallel, o.Timeout = []string{"documents"}, 2, timeout
	n := 0
	o.Done = func(Result) {
		if n++; n == 5 {
			cancel(stopped)
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, stopped) || len(r.Results) < 5 || len(r.Results) > 10 || !r.Partial || r.Planned <= 10 {
		t.Errorf("%d results, %v", len(r.Results), err)
	}
	for _, res := range r.Results {
		if res.Verdict != Kept {
			t.Errorf("%s: %s", res.ID, res.Detail)
		}
	}
}

// A run deletes all its brains, also those of failed checks.
func TestBrainsAreDeleted(t *testing.T) {
	url := serve(t, nil, mutantNamed(t, "put-200").wrap)
	o := Options{Endpoint: url, Only: []string{"documents-put-*"}}
	if r := run(t, o); r.Count("documents", Must, Broken) == 0 {
		t.Error("no check failed")
	}
	res, err := http.Get(url + "/v1/brains")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got := make([]byte, 100)
	n, _ := res.Body.Read(got)
	if string(got[:n]) != `{"items":[],"default_brain_id":""}`+"\n" {
		t.Errorf("brains left behind: %s", got[:n])
	}
}
