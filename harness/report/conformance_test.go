package report

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"evalctl/harness/conformance"
	"evalctl/internal/filetest"
)

func TestConformance(t *testing.T) {
	row := func(id, group string, level conformance.Level, verdict conformance.Verdict, reason conformance.Reason, detail string) conformance.Result {
		return conformance.Result{
			Check:   conformance.Check{ID: id, Group: group, Level: level, Section: "4.2", Sentence: "A requirement."},
			Verdict: verdict, Reason: reason, Detail: detail, Cause: detail, DurationMS: 12.5,
			Request: "GET /v1/brains/x\nAuthorization: Bearer [token]", Response: "HTTP 500 Internal Server Error\nContent-Type: text/plain\n\nno",
		}
	}
	c := Conformance{
		Endpoint: "http://127.0.0.1:1", StartedAt: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), DurationMS: 1500, Planned: 4, MCPVersion: "2026-07-28",
		Results: []conformance.Result{
			row("documents-a", "documents", conformance.Must, conformance.Kept, "", ""),
			row("documents-b", "documents", conformance.Must, conformance.Broken, "", "status 500, want 200"),
			row("events-a", "events", conformance.Should, conformance.Broken, "", "no heartbeat"),
			row("events-b", "events", conformance.Must, conformance.NotJudged, conformance.ReasonNeed, "needs a token"),
		},
	}
	c = Conformance(c.report().WithFindings())
	c.Findings[0].NotJudged = 3
	c.Normalised = []string{"rows for folders are removed from recursive listings"}
	goldens(t, "conformance", c)
	profiled := c
	profiled.Profile, profiled.Results = conformance.Evaluable, slices.Clone(c.Results)
	profiled.Results[3].Reason = conformance.ReasonRateLimit
	goldens(t, "profile", profiled)
	c.Partial, c.Planned, c.Deaths = true, 9, []conformance.Death{{After: "events-b", Cause: "exit status 1"}}
	goldens(t, "partial", c)
	c.Partial, c.Planned = false, len(c.Results)
	c.Deaths = []conformance.Death{{After: "events-a", Killer: "events-b", Cause: "exit status 1", Restarted: true}}
	goldens(t, "restarted", c)
	c.Deaths = []conformance.Death{{Cause: "connection refused"}}
	const want = "all checks were done when the daemon stopped answering: the daemon died while no check was running: connection refused"
	if got := c.progress(); got != want {
		t.Error(got)
	}
}

// A report of an older version may have checks that no longer exist, marked as the reference
// daemon's own. It is read all the same.
func TestOldConformance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conformance.json")
	const old = `{"endpoint": "http://x", "planned": 1, "results": [{"id": "brains-get-200", "group": "brains", "level": "SHOULD",
		"section": "2", "sentence": "GET of a brain returns the brain with its id.", "own": true, "verdict": "broken"}]}`
	filetest.Write(t, path, old)
	doc, err := Read(path)
	if c, ok := doc.(Conformance); err != nil || !ok || len(c.Results) != 1 || len(c.Findings) != 1 {
		t.Errorf("%v: %+v", err, doc)
	}
}
