package conformance

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	ct "evalctl/harness/conformance/conformancetest"
)

// A mutant with one defect is one finding, with the evidence of its first check. With -short, a
// sample of the mutants is tested.
func TestOneFinding(t *testing.T) {
	t.Parallel()
	for n, m := range mutants() {
		if slices.Contains(manyFindings, m.name) || slices.Contains(slowToFail, m.name) || len(m.caughtBy) < 2 ||
			matchesAny(heavyChecks, m.caughtBy[0]) || testing.Short() && n%10 != 0 {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), m.wrap))
			o.Only, o.Parallel, o.Timeout = m.caughtBy, 2, timeout
			r := run(t, o)
			if len(r.Findings) != 1 {
				t.Fatalf("%d findings: %+v", len(r.Findings), r.Findings)
			}
			f := r.Findings[0]
			got, want := slices.Sorted(slices.Values(f.Checks)), slices.Sorted(slices.Values(m.caughtBy))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
			i := slices.IndexFunc(r.Results, func(res Result) bool { return res.ID == f.Checks[0] })
			if f.Cause == "" || f.Request == "" || f.Sentence != r.Results[i].Sentence || f.Detail != r.Results[i].Detail {
				t.Errorf("%+v", f)
			}
		})
	}
}

// manyFindings are the mutants whose defect shows in answers that have nothing in common.
var manyFindings = []string{
	"batch-204", "missing-200", "record-upper-case", "record-kept", "records-as-paths", "record-metadata-echoed", "batch-reordered",
	"batch-last-lost", "batch-missing-ignored", "batch-cut", "gzip-packed", "idempotency-kept", "renamed-as-two",
	"events-unordered", "batch-reported-once", "tenant-header-trusted", "delta-after-done", "delta-text", "ask-buffered",
	"brain-kept", "recall-top-k-ignored", "ingest-tolerant", "ingest-as-ignored", "ingest-any-url",
	"mcp-search-top-k-ignored", "mcp-search-numbered", "mcp-tolerant", "mcp-strict",
}

// A route that fails is one finding, whatever the checks wanted from it, and counts the checks that
// it left not judged.
func TestFailingRoute(t *testing.T) {
	o := authOptions(serve(t, keys(t), replace(route("PUT /documents"), reject(500))))
	o.Only, o.Timeout = []string{"documents", "paths", "errors-put-*"}, timeout
	r := run(t, o)
	if len(r.Findings) != 1 || r.Findings[0].Cause != "PUT /documents returned 500" || r.Findings[0].NotJudged < 20 {
		t.Fatalf("findings %+v", r.Findings)
	}
	f := r.Findings[0]
	if f.Level != Must || f.Checks[0] != "documents-put-204" || !strings.HasPrefix(f.Response, "HTTP 500 Internal Server Error\nContent-Type: ") {
		t.Errorf("%s %s: %s", f.Level, f.Checks[0], f.Response)
	}
	if lines := strings.Split(f.Request, "\n"); !strings.HasPrefix(lines[0], "PUT /v1/brains/conformance-") ||
		!slices.Contains(lines, "Authorization: Bearer [token]") || lines[len(lines)-1] != "one" {
		t.Errorf("request %q", f.Request)
	}
	groups := r.Unjudged()
	if groups[0].Cause != f.Cause || groups[0].Reason != ReasonSetup || len(groups[0].Results) < 20 {
		t.Errorf("%d not judged: %s %s", len(groups[0].Results), groups[0].Reason, groups[0].Cause)
	}
}

// What a daemon does on many endpoints is one finding that says on how many.
func TestWideCause(t *testing.T) {
	plain := func(_ *http.Request, a *captured) {
		if a.Failed() {
			a.Header().Set("Content-Type", "text/plain")
			a.SetText("no")
		}
	}
	o := authOptions(serve(t, keys(t), after(notEventStream, plain)))
	o.Only, o.Timeout = []string{"errors-problem-*", "errors-code-*", "errors-body-*"}, timeout
	r := run(t, o)
	if len(r.Findings) != 1 || r.Findings[0].Cause != "each of 7 endpoints has no Problem as the body of an error" {
		t.Errorf("findings %+v", r.Findings)
	}
}

// Deviations that the probe finds, and files that appear only later, are one finding of the check
// about them.
func TestNormalised(t *testing.T) {
	t.Parallel()
	rename := func(pattern, from, to string) wrapper {
		return after(route(pattern), func(_ *http.Request, a *captured) {
			a.Edit(func(o map[string]any) {
				if v, ok := o[from]; ok && !a.Failed() {
					delete(o, from)
					o[to] = v
				}
			})
		})
	}
	rows := func(change func(object)) wrapper {
		return func(next http.Handler) http.Handler {
			isRecursive := func(r *http.Request) bool { return r.URL.Query().Get("recursive") == "true" }
			return after(and(route("GET /documents"), isRecursive), func(_ *http.Request, a *captured) {
				a.Edit(func(o map[string]any) {
					items, _ := o["items"].([]any)
					for _, item := range items {
						if e, _ := item.(object); e["is_dir"] == true {
							change(e)
						}
					}
				})
			})(ct.FolderRows()(next))
		}
	}
	for n, tt := range []struct {
		name, check string
		wrap        wrapper
		only        []string
	}{
		{"listings in documents", "listing-items", rename("GET /documents", "items", "documents"), []string{"listing", "batch-atomic-*"}},
		{"listings in data", "listing-items", ct.Wrapped("GET /documents"), []string{"listing", "batch-atomic-*"}},
		{"stat in data", "documents-stat-envelope", ct.Wrapped("GET /documents/stat"), []string{"documents", "paths-allowed-*"}},
		{"folders with a slash", "listing-recursive-no-folders", rows(func(e object) {
			e["path"] = e["path"].(string) + "/"
			delete(e, "is_dir")
		}), []string{"listing"}},
		{"folders of a type", "listing-recursive-no-folders", rows(func(e object) { e["type"] = "directory"; e["is_dir"] = false }), []string{"listing"}},
		{"late files of its own", "listing-only-documents", lateFiles(), []string{"listing"}},
		{"events of files of its own", "events-only-documents", ownEvents(), []string{"events"}},
	} {
		if testing.Short() && n%4 != 0 {
			continue // a few show what is concurrent
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := authOptions(serve(t, keys(t), tt.wrap))
			o.Only, o.Parallel, o.Timeout = tt.only, 1, timeout
			r := run(t, o)
			var causes []string
			for _, f := range r.Findings {
				causes = append(causes, f.Cause+": "+strings.Join(f.Checks, " "))
			}
			if len(r.Findings) != 1 || !slices.Equal(r.Findings[0].Checks, []string{tt.check}) {
				t.Fatalf("findings %q", causes)
			}
			if f := r.Findings[0]; len(r.Normalised) == 0 || f.Response == "" || f.Sentence == "" {
				t.Errorf("normalised %q, response %q", r.Normalised, f.Response)
			}
		})
	}
}

// lateFiles adds a file of an index to listings after the first listing with a glob, which is after
// the check about such files.
func lateFiles() wrapper {
	var late atomic.Bool
	own := object{"path": ".search.db", "size": 8, "mtime": "2024-01-01T00:00:00.000Z", "is_dir": false}
	return after(route("GET /documents"), func(r *http.Request, a *captured) {
		if r.URL.Query().Has("glob") {
			late.Store(true)
		} else if late.Load() && r.URL.Query().Get("dir") == "" {
			a.Edit(func(o map[string]any) {
				if items, ok := o["items"].([]any); ok {
					o["items"] = append([]any{own}, items...)
				}
			})
		}
	})
}

// ownEvents reports a change of a file of an index before each change of a document.
func ownEvents() wrapper {
	return rewriteStream(route("GET /events"), perFrame(func(f frame) []frame {
		o, err := f.object()
		if f.name != "change" || err != nil {
			return []frame{f}
		}
		own := object{"path": ".search.db", "kind": "updated", "when": o["when"]}
		return []frame{{id: f.id, name: f.name, data: string(encode(own))}, f}
	}))
}
