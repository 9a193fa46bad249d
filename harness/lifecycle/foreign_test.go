package lifecycle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/lifecycle"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// foreign is a daemon in memory that is not evalctl's own. It takes every operation, finds all
// its documents, and answers "yes".
type foreign struct {
	// serves, if set, answers a request itself, or returns false.
	serves func(w http.ResponseWriter, r *http.Request, body string) bool

	mu   sync.Mutex
	docs map[string]string // by path
}

func (f *foreign) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	path := r.URL.Query().Get("path")
	f.mu.Lock()
	switch {
	case r.Method == http.MethodPut:
		f.docs[path] = string(data)
	case strings.HasSuffix(r.URL.Path, "/append"):
		f.docs[path] += string(data)
	}
	f.mu.Unlock()
	_, rest := brainOf(r)
	switch {
	case f.serves != nil && f.serves(w, r, string(data)):
	case r.Method == http.MethodPost && r.URL.Path == "/v1/brains":
		var made struct{ Name string }
		_ = json.Unmarshal(data, &made)
		writeJSON(w, map[string]string{"id": made.Name})
	case rest == "search", strings.HasSuffix(rest, "/recall"):
		writeJSON(w, map[string]any{"chunks": f.chunks()})
	case r.URL.Path == "/healthz":
		writeJSON(w, map[string]bool{"ok": true})
	case rest == "ask":
		daemontest.Stream(w, daemontest.Event("done", `{"answer":"yes"}`))
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (f *foreign) chunks() []result.Chunk {
	f.mu.Lock()
	defer f.mu.Unlock()
	chunks := []result.Chunk{}
	for path, text := range f.docs {
		chunks = append(chunks, result.Chunk{Path: path, Text: text})
	}
	return chunks
}

func writeJSON(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) }

// runAt returns a run of questions at a foreign daemon. It must be called in a bubble.
func runAt(t *testing.T, f *foreign, d dataset.Dataset) *lifecycle.Run {
	t.Helper()
	f.docs = map[string]string{}
	daemontest.InMemory(t, f.ServeHTTP)
	e, err := target.NewEndpoint("http://memory", "", "evalctl-test", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	brains, err := d.Brains(nil)
	if err != nil {
		t.Fatal(err)
	}
	return lifecycle.New(lifecycle.Config{Dataset: d, Brains: brains, Settle: 2 * time.Second, Target: &target.Target{
		Service: e, Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
	}})
}

// askOf asks the questions of a run in order.
func askOf(t *testing.T, run *lifecycle.Run) (answers []target.Answer, failures []*target.Failure) {
	t.Helper()
	for q, err := range run.Dataset.Questions() {
		if err != nil {
			t.Fatal(err)
		}
		a, err := run.Ask(t.Context(), q, time.Minute)
		f, ok := target.AsFailure(err)
		if err != nil && !ok {
			t.Fatalf("%s ends the run: %v", q.ID, err)
		}
		answers, failures = append(answers, a), append(failures, f)
	}
	return answers, failures
}

// answersAfter answers a request of a path after a wait.
func answersAfter(suffix string, wait time.Duration) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if !strings.HasSuffix(r.URL.Path, suffix) {
			return false
		}
		select {
		case <-time.After(wait):
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
		return true
	}
}

// TestSlowOperations checks that an operation of a model has the time of a question, and that
// one that takes too long fails its question only.
func TestSlowOperations(t *testing.T) {
	const said = `{"op":"message","session":"s","text":"hello"}`
	for _, c := range []struct {
		name, before string
		serves       func(http.ResponseWriter, *http.Request, string) bool
		fails        string
	}{
		{"reflect in time", said + `,{"op":"reflect","session":"s"}`, answersAfter("/reflect", 50*time.Second), ""},
		{"reflect", said + `,{"op":"reflect","session":"s"}`, answersAfter("/reflect", time.Hour), "(reflect in session s): no answer"},
		{"consolidate", `{"op":"consolidate"}`, answersAfter("/consolidate", time.Hour), "(consolidate): no answer"},
		{"message", said, answersAfter("/messages", time.Hour), "no answer within 30s"},
	} {
		d := written(t, dataset.Options{}, `{"id":"a","question":"Is it?","brain":"a","expected_substrings":["yes"],"before":[`+c.before+`]}`,
			`{"id":"b","question":"Is it?","brain":"b","expected_substrings":["yes"],"before":[{"op":"put","path":"p.md","text":"It is."}]}`)
		synctest.Test(t, func(t *testing.T) {
			answers, failures := askOf(t, runAt(t, &foreign{serves: c.serves}, d))
			f := failures[0]
			if (f == nil) != (c.fails == "") || f != nil && (f.Kind != result.KindTimeout || !strings.Contains(f.Message, c.fails)) {
				t.Errorf("%s: got %v", c.name, f)
			}
			if failures[1] != nil || answers[1].Answer != "yes" {
				t.Errorf("%s: the next question: %v", c.name, failures[1])
			}
		})
	}
}

// TestLostIsNotLacking checks that a brain or a session that the daemon has lost fails the
// question, while an endpoint that it lacks does not.
func TestLostIsNotLacking(t *testing.T) {
	const said = `{"op":"message","session":"s","text":"hello"}`
	problem := func(suffixes, body string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, r *http.Request, _ string) bool {
			_, rest := brainOf(r)
			if rest == "" || !slices.Contains(strings.Fields(suffixes), r.Method+"/"+rest) {
				return false
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	for _, c := range []struct {
		name, before string
		serves       func(http.ResponseWriter, *http.Request, string) bool
		lost         bool
	}{
		{"no sessions", said, problem("POST/sessions/s/messages", "404 page not found"), false},
		{"no brain", said, problem("POST/sessions/s/messages POST/search", `{"code":"no_brain"}`), true},
		{"no deletion", said + `,{"op":"forget","session":"s"}`, problem("DELETE/sessions/s", `{"detail":"Not Found"}`), false},
		{"no session", said + `,{"op":"forget","session":"s"}`, problem("DELETE/sessions/s", `{"detail":"Session s does not exist."}`), true},
		{"no session to end", said + `,{"op":"reflect","session":"s"}`, problem("POST/sessions/s/reflect", `no such session`), true},
		{"no session by code", said + `,{"op":"forget","session":"s"}`, problem("DELETE/sessions/s", `{"code":"session_not_found"}`), true},
		{"no deletion of paths", said + `,{"op":"forget","session":"s"}`, problem("DELETE/sessions/s", "Cannot DELETE /sessions/s"), false},
		{"no reflection", said + `,{"op":"reflect","session":"s"}`, problem("POST/sessions/s/reflect", ""), false},
		{"no summaries", `{"op":"consolidate"}`, problem("POST/consolidate POST/compile", ""), false},
	} {
		d := written(t, dataset.Options{}, `{"id":"a","question":"Is it?","brain":"session","expected_substrings":["yes"],"before":[`+c.before+`]}`)
		synctest.Test(t, func(t *testing.T) {
			answers, failures := askOf(t, runAt(t, &foreign{serves: c.serves}, d))
			if f := failures[0]; (f != nil) != c.lost || c.lost != (answers[0].Lacks == "") || c.lost && f.Status != http.StatusNotFound {
				t.Errorf("%s: %v, lacks %q", c.name, f, answers[0].Lacks)
			}
		})
	}
}

// TestSettlesOnTheNewText has a daemon that indexes a document some time after it took it. The
// question waits for the new text of a document that was there before, and for no other
// document.
func TestSettlesOnTheNewText(t *testing.T) {
	const put = `{"op":"put","path":"a.md","text":"The fare is four euros."}`
	for name, c := range map[string]struct{ before, want string }{
		"append":        {put + `,{"op":"append","path":"a.md","text":" Children pay two."}`, "Children"},
		"overwrite":     {put + `,{"op":"put","path":"a.md","text":"The fare is six euros."}`, "six"},
		"again":         {put + `,{"op":"delete","path":"a.md"},{"op":"put","path":"a.md","text":"The fare is six euros."}`, "six"},
		"same ending":   {`{"op":"put","path":"data.md","text":"Nothing."},` + put, "four"},
		"first version": {put + `,{"op":"put","path":"a.md","text":"The fare is six euros."},` + put, "four"},
	} {
		var lines []string
		ops := strings.SplitAfter(c.before, "},")
		for i, op := range ops { // a question for each operation, so that each has settled
			lines = append(lines, fmt.Sprintf(`{"id":"q%d","question":"Is it?","brain":"b","expected_substrings":["yes"],"before":[%s]}`,
				i, strings.TrimSuffix(op, ",")))
		}
		d := written(t, dataset.Options{}, lines...)
		synctest.Test(t, func(t *testing.T) {
			f, asked := &foreign{}, ""
			var shown []result.Chunk // by searches
			f.serves = func(w http.ResponseWriter, r *http.Request, _ string) bool {
				_, rest := brainOf(r)
				switch {
				case strings.HasPrefix(rest, "documents") && r.Method != http.MethodGet:
					if r.Method == http.MethodDelete {
						f.mu.Lock()
						delete(f.docs, r.URL.Query().Get("path"))
						f.mu.Unlock()
						break // it is still found
					}
					now := f.chunks()
					time.AfterFunc(300*time.Millisecond, func() {
						f.mu.Lock()
						defer f.mu.Unlock()
						shown = now
					})
				case rest == "search":
					f.mu.Lock()
					defer f.mu.Unlock()
					writeJSON(w, map[string]any{"chunks": shown})
					return true
				case rest == "ask":
					f.mu.Lock()
					asked = fmt.Sprint(shown)
					f.mu.Unlock()
				}
				return false
			}
			_, failures := askOf(t, runAt(t, f, d))
			if failures[len(ops)-1] != nil || !strings.Contains(asked, c.want) {
				t.Errorf("%s: asked while searches found %s, %v", name, asked, failures)
			}
		})
	}
}

// TestPlacesThatFail checks that a recall or a list that fails is asked again, and that the
// question fails if it always does: nobody knows whether the text is there.
func TestPlacesThatFail(t *testing.T) {
	d := written(t, dataset.Options{}, `{"id":"a","question":"Is it?","brain":"b","expected_substrings":["yes"],"before":[`+
		`{"op":"message","session":"s","text":"The code of the gate is 4711."},{"op":"forget","session":"s"}]}`)
	const leak = "The code of the gate is 4711."
	for _, c := range []struct {
		request string
		status  int
		failing int // answers with the status before the others
		leaks   bool
		fails   string
	}{
		{"POST sessions/s/recall", 503, 1, true, ""},
		{"POST sessions/s/recall", 500, 1000, false, "in session s: POST"},
		{"POST sessions/s/recall", 404, 1000, false, ""},
		{"GET documents", 503, 2, true, ""},
		{"GET documents", 500, 1000, false, "500 Internal"},
		{"GET documents", 413, 1000, false, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, told := 0, false
			f := &foreign{serves: func(w http.ResponseWriter, r *http.Request, _ string) bool {
				_, rest := brainOf(r)
				told = told || strings.HasSuffix(rest, "/messages")
				if !told || r.Method+" "+rest != c.request {
					return false
				}
				if n++; n <= c.failing {
					w.WriteHeader(c.status)
					return true
				}
				chunks := []result.Chunk{{Text: leak}}
				writeJSON(w, map[string]any{"chunks": chunks, "items": chunks})
				return true
			}}
			answers, failures := askOf(t, runAt(t, f, d))
			if f := failures[0]; (f == nil) != (c.fails == "") || f != nil && !strings.Contains(f.Message, c.fails) || c.leaks != (answers[0].Leaks != nil) {
				t.Errorf("%s %d: %v, leaks %v", c.request, c.status, f, answers[0].Leaks)
			}
		})
	}
}

// TestBrainsThatStay checks that a busy daemon is asked again to remove a brain, and that the
// run says which brains are left.
func TestBrainsThatStay(t *testing.T) {
	d := written(t, dataset.Options{Isolated: true}, `{"id":"a","question":"Is it?","brain":"b","expected_substrings":["yes"],`+
		`"before":[{"op":"put","path":"p.md","text":"It is."}]}`)
	for status, left := range map[int]bool{http.StatusTooManyRequests: false, http.StatusInternalServerError: true} {
		refused := map[string]bool{}
		f := &foreign{docs: map[string]string{}}
		f.serves = func(w http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Method != http.MethodDelete || !left && refused[r.URL.Path] {
				return false
			}
			refused[r.URL.Path] = true
			w.WriteHeader(status)
			return true
		}
		web := httptest.NewServer(f)
		session, err := harness.Open(t.Context(), harness.SessionConfig{Endpoint: web.URL, UserAgent: "test", Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Create(t.TempDir(), result.Identity{
			SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Scenario: result.AskBasic,
			Dataset: result.DatasetID{Path: d.Path, SHA256: d.SHA256, Selected: d.Planned()},
		}, time.Now().UTC(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ended, err := harness.Measure(t.Context(), configOf(t, session, d, &records{}), j)
		if err != nil || ended.Result.Passed != 1 {
			t.Fatalf("%d: %v, %+v", status, err, ended)
		}
		if err := ended.Unremoved(); (err != nil) != left || left && !strings.Contains(err.Error(), `brain "b-`) {
			t.Errorf("%d: %v", status, err)
		}
		if err := errors.Join(session.Close(), j.Close()); err != nil {
			t.Error(err)
		}
		web.Close()
	}
}
