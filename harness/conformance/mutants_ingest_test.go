package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

var (
	ingestRoute    = route("POST /documents/ingest/file")
	ingestURLRoute = route("POST /documents/ingest/url")
)

const ingestedAnswer = `{"document_id":"a.md","path":"a.md","hash":"0","chunk_count":1,"embedded_count":0,"duration_ms":1,"reused":false}`

func ingestMutants() []mutant {
	return slices.Concat(ingestAnswerMutants(), ingestEffectMutants(), ingestURLMutants())
}

func ingestAnswerMutants() []mutant {
	edit := func(change func(request, o map[string]any)) wrapper { return editAnswer(ingestRoute, change) }
	all := []mutant{
		{"ingest-203", "an ingest returns 203", after(ingestRoute, func(_ *http.Request, a *captured) {
			if !a.Failed() {
				a.Status = 203
			}
		}), []string{"ingest-file-status"}, nil},
		{"ingest-done", "the status of an ingest is done", edit(set("status", "done")), []string{"ingest-status"}, nil},
		{"ingest-camel-case", "the keys of an IngestResponse are in camelCase", edit(set("chunkCount", 1)),
			[]string{"ingest-snake-case"}, nil},
		{"ingest-always-reused", "every ingest is reused", edit(set("reused", true)),
			[]string{"ingest-not-reused", "ingest-changed-not-reused"}, nil},
		{"ingest-never-reused", "no ingest is reused", edit(set("reused", false)), []string{"ingest-reused"}, nil},
		{"ingest-one-hash", "all files have the same hash", edit(set("hash", "0123")), []string{"ingest-hash-differs"}, nil},
		{"ingest-other-path", "the path of an IngestResponse is not that of the document", edit(func(_, o map[string]any) {
			o["path"] = "x/" + textOf(o, "path")
		}), []string{"ingest-markdown-content"}, nil},
		{"ingest-outside", "a file is stored outside of the brain",
			replace(and(ingestRoute, func(r *http.Request) bool { return strings.Contains(textOf(bodyObject(r), "path"), "..") }),
				respond(201, strings.ReplaceAll(ingestedAnswer, "a.md", "../a.md"))), []string{"ingest-path-outside"}, nil},
	}
	for name, wrong := range map[string]any{
		"document_id": "", "path": nil, "hash": 5, "chunk_count": -1, "embedded_count": "0", "duration_ms": 1.5,
	} {
		id := strings.ReplaceAll(name, "_", "-")
		all = append(all, mutant{"ingest-wrong-" + id, "the " + name + " of an ingest has a wrong value",
			edit(set(name, wrong)), []string{"ingest-" + id}, []string{"ingest-*"}})
	}
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(a.name, b.name) })
	return all
}

func ingestEffectMutants() []mutant {
	isForm := func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") }
	tolerant := replace(ingestRoute, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := capture(next, r)
		if a.Failed() {
			a.ReplaceWith(201, ingestedAnswer)
		}
		a.Send(w, r)
	})
	storing := replace(ingestRoute, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := capture(next, r)
		if a.Failed() {
			capture(next, subrequest(r, "PUT", "/documents", "application/octet-stream", "x", "path", "x.md"))
		}
		a.Send(w, r)
	})
	all := []mutant{
		{"ingest-no-forms", "a form is rejected", replace(and(ingestRoute, isForm), reject(415)), []string{"ingest-form"}, nil},
		{"ingest-tolerant", "every ingest is acknowledged", tolerant, []string{
			"ingest-pdf-broken", "ingest-json-broken", "ingest-as-unknown-400", "ingest-extension-unknown",
			"ingest-content-missing-400", "ingest-base64-invalid-400"}, nil},
		{"ingest-rejected-stored", "what an ingest rejects is stored", storing, []string{
			"ingest-pdf-broken", "ingest-json-broken", "ingest-as-unknown-400", "ingest-extension-unknown",
			"ingest-content-missing-400", "ingest-base64-invalid-400"}, nil},
		{"ingest-as-ignored", "as is ignored", tolerate(ingestRoute, func(o map[string]any) { delete(o, "as") }),
			[]string{"ingest-as", "ingest-as-unknown-400"}, nil},
		{"ingest-name-once", "a second file with the same name is dropped",
			replace(and(ingestRoute, func(r *http.Request) bool {
				return strings.Contains(readBody(r), string(encode([]byte("# Samovar\n\nThe teapot is blue.\n")))) ||
					strings.Contains(readBody(r), "teapot")
			}), respond(201, ingestedAnswer)), []string{"ingest-same-name"}, nil},
	}
	for _, kind := range []struct{ id, extension string }{
		{"markdown", ".md"}, {"text", ".txt"}, {"json", ".json"}, {"html", ".html"}, {"pdf", ".pdf"},
	} {
		all = append(all, mutant{"ingest-" + kind.id + "-unread", "nothing is found in files with the extension " + kind.extension,
			replace(and(ingestRoute, func(r *http.Request) bool {
				return strings.HasSuffix(textOf(bodyObject(r), "path"), kind.extension)
			}), respond(201, ingestedAnswer)), []string{"ingest-" + kind.id + "-found"}, []string{"ingest-*", "sessions-*"}})
	}
	return all
}

func ingestURLMutants() []mutant {
	return []mutant{
		{"ingest-any-url", "every URL is fetched", replace(ingestURLRoute, respond(201, ingestedAnswer)), []string{
			"ingest-url-metadata", "ingest-url-loopback", "ingest-url-loopback-6", "ingest-url-private",
			"ingest-url-mapped", "ingest-url-file", "ingest-url-missing-400", "ingest-url-relative-400"}, nil},
	}
}

// The slow checks of this group, with the reference daemon and with daemons that break them.
func TestIngestLimits(t *testing.T) {
	form := func(status int, body string) wrapper { return replace(isLarge, respond(status, body)) }
	for _, tt := range []struct {
		name   string
		wrap   wrapper
		only   string
		broken []string
	}{
		{"a large file", unbroken, "ingest-25mib*", nil},
		{"a queued file", unbroken, "ingest-queued-*", nil},
		{"small files only", form(413, `{"code":"file_too_large"}`), "ingest-25mib*", []string{"ingest-25mib"}},
		{"no limit", form(201, ingestedAnswer), "ingest-25mib*", []string{"ingest-25mib-over-413"}},
		{"another code", form(413, `{"code":"payload_too_large"}`), "ingest-25mib*", []string{"ingest-25mib", "ingest-25mib-over-code"}},
		{"failing jobs", after(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/jobs/") },
			func(_ *http.Request, a *captured) { a.Edit(func(o map[string]any) { o["status"] = "failed" }) }),
			"ingest-queued-*", []string{"ingest-queued-completes"}},
	} {
		if testing.Short() && tt.only == "ingest-25mib*" {
			continue // nothing is concurrent while a large file is read
		}
		t.Run(tt.name, func(t *testing.T) {
			o := authOptions(serve(t, "", keys(t), tt.wrap))
			o.Only, o.Slow = []string{tt.only}, true
			for _, res := range runPatiently(t, o).Results {
				isBroken := res.Verdict == Broken
				if isBroken != slices.Contains(tt.broken, res.ID) {
					t.Errorf("%s is %s: %s", res.ID, res.Verdict, res.Detail)
				}
				if tt.broken == nil && res.Verdict != Kept {
					t.Errorf("%s is %s: %s", res.ID, res.Verdict, res.Detail)
				}
			}
		})
	}
}

func isLarge(r *http.Request) bool { return ingestRoute(r) && r.ContentLength > 20<<20 }
