package target

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/awaittest"
)

// nearMisses are the answers of daemons that nearly speak the protocol, with what the error says.
var nearMisses = []struct {
	name, contentType, body string
	search                  bool
	want                    []string
}{
	{"results", "application/json", `{"results":[{"text":"x"}],"took":3}`, true,
		[]string{`has the keys "results", "took", and neither "chunks" nor "hits"`}},
	{"data", "application/json", `{"data":[]}`, true, []string{`"data"`, `"chunks"`}},
	{"a bare list", "application/json", `[{"text":"x"}]`, true, []string{"a JSON list"}},
	{"hits in hits", "application/json", `{"hits":{"total":1,"hits":[]}}`, true,
		[]string{`"hits" is not a list of chunks`}},
	{"a page", "text/html", "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>", true,
		[]string{`an HTML page titled "Sign in"`, "the endpoint and the token"}},
	{"a page instead of a stream", "text/html", "<html><title>Bad\ngateway</title>", false,
		[]string{`"text/html" instead of text/event-stream`, "an HTML page titled", "login page"}},
	{"OpenAI", "text/event-stream",
		"data: {\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", false,
		[]string{`the events "message"`, `"id", "choices"`, "OpenAI chat completion", "answer_delta", "search-retrieve-only"}},
	{"other names", "text/event-stream", event("start", `{"run":1}`) + event("chunk", `{"text":"a"}`) + event("end", `{}`), false,
		[]string{`"start", "chunk", "end"`, `keys "run"`, "retrieve, answer_delta, citation and done"}},
	{"no done", "text/event-stream", event("retrieve", `{"chunks":[]}`) + event("answer_delta", `{"delta":"abc"}`), false,
		[]string{"ended without done, after 3 bytes", `the events "retrieve", "answer_delta"`}},
	{"no blank line", "text/event-stream", event("answer_delta", `{"delta":"abc"}`) + "event: done\ndata: {}\n", false,
		[]string{"ended without done, after 3 bytes", "its last event was not ended by a blank line"}},
	{"JSON", "application/json", `{"answer":"a","sources":[]}`, false,
		[]string{`"application/json"`, `a JSON object with the keys "answer", "sources"`}},
	{"JSON that is cut", "application/json", `{"answer":"` + strings.Repeat("a", 2*maxShape), false,
		[]string{`a JSON object with the keys "answer"`}},
	{"NDJSON", "application/x-ndjson", `{"type":"delta","text":"a"}` + "\n" + `{"type":"done"}` + "\n", false,
		[]string{"lines of JSON objects (NDJSON)", `"type", "text"`}},
	{"a stream of another type", "text/plain", event("done", `{"answer":"a"}`), false,
		[]string{`"text/plain"`, "with an event stream"}},
	{"nothing", "text/plain", "", false, []string{"an empty body"}},
	{"hostile names", "text/event-stream", event("\x1b[31m"+strings.Repeat("é", 500), "x"), false,
		[]string{"the events"}},
}

// TestNearMisses checks that the error names what came and what is expected, and that Check finds
// it before a question is asked.
func TestNearMisses(t *testing.T) {
	for _, c := range nearMisses {
		t.Run(c.name, func(t *testing.T) {
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
				w.Header().Set("Content-Type", c.contentType)
				_, _ = io.WriteString(w, c.body)
			})
			target := targetOf(t, s)
			if target.Brains = map[string]string{"": "eval", "b": "b"}; c.search {
				target.Scenario = result.SearchOnly
			}
			kind := result.KindProtocol
			if c.name == "no done" || c.name == "no blank line" {
				kind = result.KindIncomplete
			}
			wantFailure(t, target, kind, c.want...)
			_, err := target.Check(t.Context(), time.Minute)
			if err == nil || !strings.Contains(err.Error(), c.want[0]) ||
				!strings.Contains(err.Error(), "no question was asked") {
				t.Errorf("checked: %v", err)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 2048 {
				t.Errorf("the error of %d bytes is not one short line: %q", len(err.Error()), err)
			}
		})
	}
}

// TestOpenStreamOfOpenAI checks that a stream is not waited for after its [DONE].
func TestOpenStreamOfOpenAI(t *testing.T) {
	released := make(chan struct{})
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(released)
	})
	wantFailure(t, targetOf(t, s), result.KindProtocol, "OpenAI")
	awaittest.Receive(t, "released", released)
}

// TestCheckBelieves checks that a failure which may concern only one query is no reason not to ask
// the others.
func TestCheckBelieves(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"answers":     func(w http.ResponseWriter) { daemontest.Stream(w, event("done", `{"answer":"a"}`)) },
		"error event": func(w http.ResponseWriter) { daemontest.Stream(w, event("error", `{"code":"x"}`)) },
		"not ok":      func(w http.ResponseWriter) { daemontest.Stream(w, event("done", `{"ok":false}`)) },
		"status":      func(w http.ResponseWriter) { http.Error(w, "no", http.StatusInternalServerError) },
		"cut":         func(w http.ResponseWriter) { daemontest.Stream(w, "event: answer_delta\ndata: {\"del") },
		"hangs up":    daemontest.HangUp,
	} {
		s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
			if c.Body["question"] != OwnQuery {
				t.Errorf("asked %v", c.Body)
			}
			answer(w)
		})
		if own, err := targetOf(t, s).Check(t.Context(), time.Minute); err != nil || own.Question != OwnQuery || own.Requests < 1 {
			t.Errorf("%s: %+v, %v", name, own, err)
		}
	}
}
