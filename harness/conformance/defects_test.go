package conformance

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	ct "evalctl/harness/conformance/conformancetest"
)

// defect is a misbehaving daemon, and what the report may say about it.
type defect struct {
	name string
	wrap ct.Wrapper
	// only are the checks that run: by default all groups but those that move megabytes.
	only []string
	// findings are the causes of the findings, in the order of the report.
	findings []string
	// normalised are texts in what the probe found out, in its order.
	normalised []string
	// left is set if the daemon keeps brains.
	left bool
	// timeout bounds a check that must time out; 0 means that none must.
	timeout time.Duration
}

func defects() []defect {
	answer := func(path ...string) func(id, _ string) any {
		return func(id, _ string) any {
			var v any = id
			for _, key := range slices.Backward(path) {
				v = object{key: v}
			}
			return v
		}
	}
	own := []string{".search.db", ".search.db-wal"}
	statGroups := []string{"documents", "listing-200", "listing-[a-l]*", "errors", "headers"}
	fewChecks := []string{"brains", "documents-put-*", "documents-brain*", "listing-200", "listing-empty", "events-200", "events-created", "search-200"}
	return []defect{
		{name: "nothing", wrap: ct.Correct()},
		{name: "delay", wrap: ct.Delay(300 * time.Millisecond),
			only: []string{"documents-put-*", "events-created", "events-ready", "search-finds", "ask-200"}},
		{name: "own files", wrap: ct.Stray(own...), findings: []string{"listing-only-documents"}},
		{name: "own files after a search", wrap: ct.StrayAfterSearch(own...), findings: []string{"listing-only-documents"}},
		{name: "generated files in every listing", wrap: ct.Stray("_index.md"), findings: []string{"listing-only-documents"}},
		{name: "folder rows", wrap: ct.FolderRows(), findings: []string{"listing-recursive-no-folders"}},
		{name: "DELETE of brains 404", wrap: ct.NoDeletion(404), left: true, only: fewChecks,
			normalised: []string{"brains cannot be deleted and remain: DELETE /v1/brains/{id} returned 404"}},
		{name: "DELETE of brains 405", wrap: ct.NoDeletion(405), left: true, only: fewChecks,
			normalised: []string{"brains cannot be deleted and remain: DELETE /v1/brains/{id} returned 405"}},
		{name: "500 on PUT", wrap: ct.Failing("PUT /documents", 500), findings: []string{"PUT /documents returned 500"}},
		{name: "500 on search", wrap: ct.Failing("POST /search", 500), findings: []string{"POST /search returned 500"}},
		{name: "500 on events", wrap: ct.Failing("GET /events", 500), findings: []string{"GET /events returned 500"}},
		{name: "500 on reads", wrap: ct.Failing("GET /documents/read", 500), findings: []string{"GET /documents/read returned 500"}},
		{name: "500 on stat", wrap: ct.Failing("GET /documents/stat", 500), only: statGroups,
			findings: []string{"GET /documents/stat returned 500"}},
		{name: "500 on listings", wrap: ct.Failing("GET /documents", 500), only: statGroups,
			findings: []string{"GET /documents returned 500"}},
		{name: "500 on renames", wrap: ct.Failing("POST /documents/rename", 500), only: statGroups,
			findings: []string{"POST /documents/rename returned 500"}},
		{name: "bare listings", wrap: ct.BareListings(), only: statGroups, findings: []string{"listing-items"}},
		{name: "brain.brainId", only: fewChecks,
			wrap:       ct.Create(ct.Creation{Keys: []string{"brainId"}, Rejects: 400, Status: 201, Body: answer("brain", "brainId")}),
			normalised: []string{`brains are created with {"brainId":"NAME"}, and their id is brain.brainId`}},
		{name: "brain_id", only: fewChecks,
			wrap:       ct.Create(ct.Creation{Keys: []string{"name"}, Rejects: 422, Status: 200, Body: answer("brain_id"), AssignsID: true}),
			normalised: []string{`brains are created with {"name":"NAME"}, and their id is brain_id`}},
		{name: "no POST of brains", wrap: ct.ImplicitBrains(404), only: fewChecks,
			normalised: []string{"there is no POST /v1/brains"}},
		{name: "no /healthz", wrap: ct.NoHealth(), only: fewChecks, findings: []string{"GET /healthz returned 404"}},
		{name: "empty body of stat", wrap: ct.Empty("GET /documents/stat"), only: statGroups,
			findings: []string{"GET /documents/stat returned no JSON object"}},
		{name: "stat in data", wrap: ct.Wrapped("GET /documents/stat"), only: statGroups,
			findings: []string{"documents-stat-envelope"}},
		{name: "If-Match", wrap: ct.Preconditions(), findings: []string{"headers-read-if-match"}},
		{name: "hanging append", wrap: ct.Hanging("POST /documents/append"), timeout: 300 * time.Millisecond,
			only: []string{"documents-append-*", "documents-put-204", "documents-delete-*"}},
		{name: "resets", wrap: ct.ResetEvery(50)},
		{name: "rate limit", wrap: ct.RateLimitEvery(40)},
	}
}

// TestDefects requires a report to name the defect of a daemon and nothing else. With -short, a
// sample of the daemons is tested.
func TestDefects(t *testing.T) {
	t.Parallel()
	for n, d := range defects() {
		if testing.Short() && n%12 != 0 {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), d.wrap))
			o.Only, o.Parallel, o.Timeout = d.only, 8, d.timeout
			if d.only == nil {
				o.Only = manyGroups
			}
			r := run(t, o)
			wantFindings(t, r, d.findings)
			if len(r.Normalised) != len(d.normalised) && d.normalised != nil {
				t.Errorf("normalised: %q", r.Normalised)
			}
			for i, want := range d.normalised {
				if i < len(r.Normalised) && !strings.HasPrefix(r.Normalised[i], want) {
					t.Errorf("normalised: %q", r.Normalised[i])
				}
			}
			if r.Partial || len(r.Deaths) > 0 || d.left != (len(r.BrainsLeft) > 0) {
				t.Errorf("partial %v, deaths %v, brains left: %q", r.Partial, r.Deaths, r.BrainsLeft)
			}
		})
	}
}

// wantFindings requires the findings of a report. Each is the beginning of a cause, or the id of
// the only check of a finding.
func wantFindings(t *testing.T, r Report, want []string) {
	t.Helper()
	for i, f := range r.Findings {
		if i >= len(want) || !strings.HasPrefix(f.Cause, want[i]) && !slices.Equal(f.Checks, want[i:i+1]) {
			t.Errorf("finding %q: %q: %s\n%s\n%s", f.Cause, f.Checks, f.Detail, f.Request, f.Response)
		}
	}
	if len(r.Findings) < len(want) {
		t.Errorf("%d findings, want %q", len(r.Findings), want)
	}
	for _, res := range r.Results {
		if (res.Reason == "") == (res.Verdict == NotJudged) {
			t.Errorf("%s is %s with the reason %q", res.ID, res.Verdict, res.Reason)
		}
	}
}

// How the daemon of TestCrashDefects dies.
const (
	crashAtRequest = "once, on a request"
	crashOnAbort   = "on an aborted upload"
)

// A daemon that crashes is accused of that only: the checks that it kept from their end are judged
// after a restart.
func TestCrashDefects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		how, killer string
		only        []string
	}{
		{crashAtRequest, "", []string{"documents", "listing-[a-l]*", "errors"}},
		{crashOnAbort, "limits-put-declared-413", []string{"documents-put-*", "limits-put-declared-413", "errors-status-*"}},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			o := startMortal(t, tt.how)
			o.Only, o.Parallel = tt.only, 4
			r, err := Run(t.Context(), o)
			if !errors.Is(err, ErrDied) || r.Partial || len(r.Deaths) != 1 {
				t.Fatalf("partial %v, deaths %+v: %v", r.Partial, r.Deaths, err)
			}
			wantFindings(t, r, []string{"the daemon died"})
			if d := r.Deaths[0]; !d.Restarted || !strings.Contains(d.Cause, "the disk is full") || tt.killer != "" && d.Killer != tt.killer {
				t.Errorf("death %+v", d)
			}
			if n := r.Count("", Must, Broken) + r.Count("", Should, Broken); n > 0 || r.NotJudged() > 0 {
				t.Errorf("%d broken, %d not judged", n, r.NotJudged())
			}
		})
	}
}
