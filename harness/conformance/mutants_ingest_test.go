package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

var ingestRoute = route("POST /documents/ingest/file")

const ingestedAnswer = `{"document_id":"a.md","path":"a.md","hash":"0","chunk_count":1,"embedded_count":0,"duration_ms":1,"reused":false}`

func ingestMutants() []mutant {
	return slices.Concat(ingestAnswerMutants(), ingestEffectMutants())
}

func ingestAnswerMutants() []mutant {
	edit := func(change func(request, o map[string]any)) wrapper { return editAnswer(ingestRoute, change) }
	all := []mutant{
		{"ingest-done", "the status of an ingest is done", edit(set("status", "done")), []string{"ingest-status"}, nil},
		{"ingest-camel-case", "the keys of an IngestResponse are in camelCase", edit(set("chunkCount", 1)),
			[]string{"ingest-snake-case"}, nil},
		{"ingest-always-reused", "every ingest is reused", edit(set("reused", true)),
			[]string{"ingest-not-reused"}, nil},
		{"ingest-one-hash", "all files have the same hash", edit(set("hash", "0123")), []string{"ingest-hash-differs"}, nil},
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
	var all []mutant
	for _, kind := range []struct{ id, extension string }{
		{"markdown", ".md"}, {"text", ".txt"}, {"json", ".json"}, {"pdf", ".pdf"},
	} {
		all = append(all, mutant{"ingest-" + kind.id + "-unread", "nothing is found in files with the extension " + kind.extension,
			replace(and(ingestRoute, func(r *http.Request) bool {
				return strings.HasSuffix(textOf(bodyObject(r), "path"), kind.extension)
			}), respond(201, ingestedAnswer)), []string{"ingest-" + kind.id + "-found"}, []string{"ingest-*", "sessions-*"}})
	}
	return all
}

// The slow check of this group, with the reference daemon and with a daemon that breaks it.
func TestIngestLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is concurrent while a large file is read")
	}
	for _, tt := range []struct {
		name string
		wrap wrapper
		want Verdict
	}{
		{"a large file", unbroken, Kept},
		{"small files only", replace(isLarge, respond(413, `{"code":"file_too_large"}`)), Broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := authOptions(serve(t, keys(t), tt.wrap))
			o.Only, o.Slow = []string{"ingest-25mib"}, true
			if res := runPatiently(t, o).Results[0]; res.Verdict != tt.want {
				t.Errorf("%s is %s: %s", res.ID, res.Verdict, res.Detail)
			}
		})
	}
}

func isLarge(r *http.Request) bool { return ingestRoute(r) && r.ContentLength > 20<<20 }
