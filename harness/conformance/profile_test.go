package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ct "evalctl/harness/conformance/conformancetest"
	"evalctl/harness/conformance/requirements"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	evaltarget "evalctl/harness/target"
)

// smallDaemon has what an evaluation needs, and hardly more. It answers in camelCase, without
// Problem bodies, batches, listings and events, and keeps its documents under other paths.
func smallDaemon() http.Handler {
	var mu sync.Mutex
	notes := map[string]map[string]string{}
	find := func(brain, query string) []map[string]any {
		mu.Lock()
		defer mu.Unlock()
		var hits []map[string]any
		for p, text := range notes[brain] {
			for word := range strings.FieldsSeq(strings.ToLower(query)) {
				if strings.Contains(strings.ToLower(text), strings.Trim(word, "?.")) {
					hits = append(hits, map[string]any{"documentId": "store/" + p, "score": 1, "summary": text})
					break
				}
			}
		}
		return hits
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	mux.HandleFunc("POST /v1/brains", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		notes[bodyObject(r)["brainId"].(string)] = map[string]string{}
		w.WriteHeader(201)
	})
	mux.HandleFunc("PUT /v1/brains/{id}/documents", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		notes[r.PathValue("id")][path.Base(r.FormValue("path"))] = readBody(r)
	})
	mux.HandleFunc("POST /v1/brains/{id}/search", func(w http.ResponseWriter, r *http.Request) {
		query, _ := bodyObject(r)["query"].(string)
		_ = json.NewEncoder(w).Encode(map[string]any{"hits": find(r.PathValue("id"), query), "tookMs": 1})
	})
	mux.HandleFunc("POST /v1/brains/{id}/ask", func(w http.ResponseWriter, r *http.Request) {
		question, _ := bodyObject(r)["question"].(string)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, hit := range find(r.PathValue("id"), question) {
			text, _ := json.Marshal(hit["summary"])
			fmt.Fprintf(w, "event:token\r\ndata:{\"content\":%s}\r\n\r\n", text)
		}
		fmt.Fprint(w, "event: done\ndata: {\"ok\":true}\n\n")
	})
	return mux
}

// evaluates seeds a brain of a daemon and asks it in both ways, as run and replay do, and reports
// whether it can be measured.
func evaluates(t *testing.T, url string) error {
	t.Helper()
	e, err := evaltarget.NewEndpoint(url, "", "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Health(t.Context()); err != nil {
		return err
	}
	docs := []dataset.Doc{{Path: "kettle.md", Data: []byte("The kettle is green.")}, {Path: "parrot.md", Data: []byte("The parrot likes nuts.")}}
	for _, some := range [][]dataset.Doc{docs, docs[:1]} {
		brain := dataset.Brain{Name: newName(), Docs: some}
		ids, err := seed.Brains(t.Context(), e, result.Auto, []dataset.Brain{brain}, nil, nil)
		if err != nil {
			return err
		}
		for _, scenario := range []result.Scenario{result.SearchOnly, result.AskBasic} {
			asked := &evaltarget.Target{Service: e, Brains: ids, Scenario: scenario, Mode: "auto", TopK: 5}
			a, err := asked.Ask(t.Context(), dataset.Question{ID: "q", Question: "What colour is the kettle?", Brain: brain.Name}, 5*time.Second)
			if err != nil {
				return err
			}
			if !strings.Contains(a.Answer, "green") {
				return fmt.Errorf("%s answered %q", scenario, a.Answer)
			}
		}
	}
	return nil
}

// A daemon that an evaluation can measure keeps the profile evaluable. One without a thing that is
// needed cannot be measured, and breaks the check that is about it.
func TestEvaluable(t *testing.T) {
	t.Parallel()
	edit := func(pattern, from, to string) wrapper {
		return after(route(pattern), func(_ *http.Request, a *captured) { a.ReplaceText(from, to) })
	}
	isCreation := func(r *http.Request) bool { return r.URL.Path == "/v1/brains" }
	for _, tt := range []struct {
		name   string
		wrap   wrapper
		broken []string
	}{
		{"nothing", unbroken, nil},
		{"the path instead of an id", edit("POST /search", "documentId", "path"), nil},
		{"chunks instead of hits", edit("POST /search", `"hits"`, `"chunks"`), nil},
		{"answer_delta with a text", edit("POST /ask", "token\r\ndata:{\"content\"", "answer_delta\r\ndata:{\"text\""), nil},
		{"the answer in done", edit("POST /ask", `{"ok":true}`, `{"answer":"green"}`), nil},
		{"an id of a brain", after(isCreation, func(_ *http.Request, a *captured) { a.SetText(`{"brain":{}}`) }), nil},
		{"no health", ct.NoHealth(), []string{"evaluable-health"}},
		{"not healthy", after(func(r *http.Request) bool { return r.URL.Path == "/healthz" }, func(_ *http.Request, a *captured) { a.SetText(`{"ok":false}`) }),
			[]string{"evaluable-health"}},
		{"a text for a brain", after(isCreation, func(_ *http.Request, a *captured) { a.SetText(`created`) }), []string{"evaluable-create"}},
		{"brains with other keys only", replace(isCreation, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if o := bodyObject(r); len(o) > 1 {
				reject(400)(w, r, next)
				return
			}
			editBody(r, func(o map[string]any) {
				for _, v := range o {
					o["brainId"] = v
					break
				}
			})
			next.ServeHTTP(w, r)
		}), []string{"evaluable-create"}},
		{"batches that are not counted", replace(route("POST /documents/batch-ops"), respond(200, `{}`)), []string{"evaluable-batch"}},
		{"batches that fail", replace(route("POST /documents/batch-ops"), reject(400)), []string{"evaluable-batch"}},
		{"other results", edit("POST /search", `"hits"`, `"results"`), []string{"evaluable-search"}},
		{"a list of results", after(route("POST /search"), func(_ *http.Request, a *captured) { a.SetText(`[]`) }), []string{"evaluable-search"}},
		{"other names of documents", edit("POST /search", "documentId", "uri"), []string{"evaluable-found"}},
		{"no texts", edit("POST /search", "summary", "passage"), []string{"evaluable-text"}},
		{"no search", ct.Failing("POST /search", 404), []string{"evaluable-search"}},
		{"no ask", ct.Failing("POST /ask", 404), []string{"evaluable-ask"}},
		{"an ask in JSON", after(route("POST /ask"), func(_ *http.Request, a *captured) { a.Header().Set("Content-Type", "application/json") }),
			[]string{"evaluable-ask"}},
		{"no done", edit("POST /ask", "done", "finished"), []string{"evaluable-ask"}},
		{"other deltas", edit("POST /ask", "event:token", "event:part"), []string{"evaluable-answer"}},
		{"other texts of deltas", edit("POST /ask", `"content"`, `"piece"`), []string{"evaluable-answer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := serveHandler(t, tt.wrap(smallDaemon()), func() {})
			r := run(t, Options{Endpoint: url, Profile: Evaluable, within: time.Second, Timeout: 20 * time.Second})
			var broken []string
			for _, res := range r.Results {
				if res.Verdict == Broken {
					broken = append(broken, res.ID)
				}
			}
			if !slices.Equal(broken, tt.broken) || r.Profile != Evaluable {
				t.Errorf("broken %q, want %q: %+v", broken, tt.broken, r.Findings)
			}
			if len(tt.broken) == 0 && r.NotJudged() > 0 {
				t.Errorf("not judged: %+v", r.Unjudged())
			}
			if slices.Contains(tt.broken, "evaluable-found") {
				return // the evaluation waits half a minute before it gives up
			}
			if err := evaluates(t, url); (err == nil) != (len(tt.broken) == 0) {
				t.Errorf("the evaluation says: %v", err)
			}
		})
	}
}

// The profiles have the checks that they say, and a selection is of one profile.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile   Profile
		only      []string
		has, lack string
		err       error
	}{
		{Full, nil, "mcp-tools", "", nil},
		{Documents, nil, "events-change", "auth-tenant-ask-403", nil},
		{Documents, []string{"auth"}, "auth-put-401", "documents-put-204", nil},
		{Documents, nil, "limits-put-over-whole", "search-200", nil},
		{Evaluable, nil, "evaluable-ask", "documents-put-204", nil},
		{Evaluable, []string{"documents"}, "", "", errNoCheck},
		{"other", nil, "", "", errNoCheck},
	} {
		got, err := Checks(tt.profile, tt.only)
		has := func(id string) bool { return slices.ContainsFunc(got, func(c Check) bool { return c.ID == id }) }
		if !errors.Is(err, tt.err) || tt.has != "" && !has(tt.has) || has(tt.lack) {
			t.Errorf("%s %q: %d checks, %v", tt.profile, tt.only, len(got), err)
		}
	}
	for name, of := range profiles {
		for _, selector := range slices.Concat(of.with, of.without) {
			if !slices.ContainsFunc(requirements.All(), func(c Check) bool { return c.Matches(selector) }) {
				t.Errorf("profile %s: %s selects nothing", name, selector)
			}
		}
	}
}

// A daemon with documents and events, and nothing else, keeps the profile documents.
func TestDocumentsProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("TestReferenceDaemon has the same checks")
	}
	t.Parallel()
	without := ct.FailingIf(ct.AnyRoute("* /search", "* /ask", "POST /documents/ingest/file"), 404)
	o := authOptions(serve(t, keys(t), without))
	o.Profile, o.MCP, o.Only = Documents, "", []string{"[a-k]*", "p*", "documents", "listing-[a-l]*"}
	r := run(t, o)
	for _, res := range r.Results {
		if res.Verdict != Kept && res.Reason != ReasonNeed {
			t.Errorf("%s is %s: %s", res.ID, res.Verdict, res.Detail)
		}
	}
}
