package conformance

import (
	"slices"
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
	// broken are globs over the ids of the checks that are about the defect: all of them must be
	// broken, and no other check.
	broken []string
	// left is set if the daemon keeps brains.
	left bool
}

func defects() []defect {
	created := func(body func(id, name string) any) ct.Creation {
		return ct.Creation{Keys: []string{"name"}, Rejects: 400, Status: 201, Body: body, AssignsID: true}
	}
	return []defect{
		{name: "nothing", wrap: ct.Correct()},
		{name: "delay", wrap: ct.Delay(300 * time.Millisecond),
			only: []string{"documents-put-*", "events-created", "events-ready", "search-finds", "ask-200"}},
		{name: "files of its own", wrap: ct.Stray(".search.db", ".search.db-wal"), broken: []string{"listing-only-documents"}},
		{name: "files of its own after a search", wrap: ct.StrayAfterSearch(".search.db", ".search.db-wal"),
			broken: []string{"listing-only-documents"}},
		{name: "folder rows", wrap: ct.FolderRows(), broken: []string{"listing-recursive-no-folders"}},
		{name: "no deletion of brains, 404", wrap: ct.NoDeletion(404), left: true},
		{name: "no deletion of brains, 405", wrap: ct.NoDeletion(405), left: true},
		{name: "500 on PUT", wrap: ct.Failing("PUT /documents", 500), broken: []string{"documents-put-204"}},
		{name: "500 on search", wrap: ct.Failing("POST /search", 500), broken: []string{"search-200"}},
		{name: "500 on events", wrap: ct.Failing("GET /events", 500), broken: []string{"events-200"}},
		{name: "brain.brainId", wrap: ct.Create(ct.Creation{Keys: []string{"brainId"}, Rejects: 400, Status: 201,
			Body: func(id, _ string) any { return object{"brain": object{"brainId": id}} }})},
		{name: "brain_id", wrap: ct.Create(created(func(id, _ string) any { return object{"brain_id": id} }))},
		{name: "no brains endpoint", wrap: ct.ImplicitBrains(404)},
		{name: "resets", wrap: ct.ResetEvery(50)},
		{name: "rate limit", wrap: ct.RateLimitEvery(40)},
	}
}

// TestDefects requires a report to name the defect of a daemon and nothing else.
func TestDefects(t *testing.T) {
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, "", keys(t), d.wrap))
			o.Only, o.Parallel = d.only, 8
			if d.only == nil {
				o.Only = manyGroups
			}
			r := run(t, o)
			wantBroken(t, r, d.broken)
			if r.Partial || d.left != (len(r.BrainsLeft) > 0) {
				t.Errorf("partial %v, brains left: %d", r.Partial, len(r.BrainsLeft))
			}
		})
	}
}

func wantBroken(t *testing.T, r Report, broken []string) {
	t.Helper()
	for _, res := range r.Results {
		isBroken := res.Verdict == Broken
		if want := slices.ContainsFunc(broken, func(g string) bool { return matchesAny([]string{g}, res.ID) }); want != isBroken {
			t.Errorf("%s %s is %s: %s [%s]", res.Level, res.ID, res.Verdict, res.Detail, res.Request)
		}
		if (res.Reason == "") == (res.Verdict == NotJudged) {
			t.Errorf("%s is %s with the reason %q", res.ID, res.Verdict, res.Reason)
		}
	}
}
